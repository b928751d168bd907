/* opened.c - opens a library in Fortran for itself alone, as Python does: opened LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "calls_") : NULL;
    void (*calls)(void);
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&calls, &symbol, sizeof calls);
    calls();
    puts("OK");
    return 0;
}
