/* next.c - the line is asked for by each name, for a tool may have a single function.
 *
 * What one gets wrong here: that two addresses differ does not make them two tools' functions.
 * An MPI may have MPI_Send beside PMPI_Send instead of one function of two names, and a program
 * that takes a function's address may have a stub of its own for it. Only a definition in
 * another object is another tool's. */
#include "autoconf.h"

#include "next.h"
#include "other.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Weak, for an MPI that lacks one of them, being older than the one of mpi.h, must not keep
 * the program from being loaded. */
#define CALL(name, ...) extern __typeof__(PMPI_##name) PMPI_##name __attribute__((weak));
#define CALL_C(name, ...) CALL(name) RKC_MPI_LARGE(CALL(name##_c))
#define CALL_BY_HAND(name) CALL(name)
#define COLLECTIVE CALL
#define COLLECTIVE_C CALL_C
#include "mpi_calls.def"
#undef CALL

typedef void (*any_function)(void);

#define CALL(name, ...) [RKC_MPI_##name] = {NULL, (any_function)PMPI_##name, RKC_NEVER_HOT},
#define CALL_OF_FORTRAN(name) [RKC_MPI_##name] = {NULL, NULL, RKC_NEVER_HOT},
struct rkc_mpi_function rkc_mpi_functions[RKC_MPI_FUNCTIONS] = {
#include "mpi_calls.def"

#include "fortran_only.def"
};
#undef CALL
#undef CALL_OF_FORTRAN

/* ---- names ---- */

/* Without pointers, which the loader would have to set in each process. */
#define CALL_OF_FORTRAN(name) CALL(name)
#define CALL(name, ...) char name[sizeof "MPI_" #name];
struct names {
#include "mpi_calls.def"

#include "fortran_only.def"
};
#undef CALL

#define CALL(name, ...) .name = "MPI_" #name,
static const struct names names = {
#include "mpi_calls.def"

#include "fortran_only.def"
};
#undef CALL

#define CALL(name, ...) [RKC_MPI_##name] = offsetof(struct names, name),
static const uint16_t name_at[RKC_MPI_FUNCTIONS] = {
#include "mpi_calls.def"

#include "fortran_only.def"
};
#undef CALL
#undef CALL_C
#undef CALL_BY_HAND
#undef CALL_OF_FORTRAN
#undef COLLECTIVE
#undef COLLECTIVE_C

_Static_assert(sizeof names <= UINT16_MAX, "a place in it fits");

const char *rkc_mpi_name(const struct rkc_mpi_function *function)
{
    return (const char *)&names + name_at[function - rkc_mpi_functions];
}

/* ---- other tools ---- */

#ifdef __LP64__
typedef Elf64_Sym elf_symbol;
#else
typedef Elf32_Sym elf_symbol;
#endif

enum { TOOLS_MAX = 8 };

/* The others that were found; names belong to the dynamic linker. */
static struct {
    const char *file[TOOLS_MAX];
    int n;
} tools;

/* Our object, from its first to its last byte: the linker's names for them. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static int is_own(const void *function)
{
    return (uintptr_t)function >= (uintptr_t)__ehdr_start && (uintptr_t)function < (uintptr_t)_end;
}

/* Where the object that has the function lies. */
static const void *object_of(const void *function)
{
    Dl_info info;
    return dladdr(function, &info) ? info.dli_fbase : NULL;
}

static void remember(const Dl_info *info)
{
    const void *program = object_of((const void *)getauxval(AT_PHDR));
    const char *file = info->dli_fbase == program ? "the program itself" : info->dli_fname;
    for (int i = 0; i < tools.n; i++)
        if (strcmp(tools.file[i], file) == 0)
            return;
    if (tools.n < TOOLS_MAX)
        tools.file[tools.n++] = file;
}

/* Whether a function is another tool's, which is remembered: neither ours nor that of the object
 * `mpi`, nor a stub, by which a program has an address for a function of another object. */
static int is_foreign(const void *function, const void *mpi)
{
    Dl_info info;
    const elf_symbol *symbol = NULL;
    if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || info.dli_fbase == mpi ||
        !symbol || symbol->st_shndx == SHN_UNDEF)
        return 0;
    remember(&info);
    return 1;
}

/* The program has another MPI than ours: its functions are next, and nobody else's. */
static int leave_to_other(void)
{
    void *other = rkc_mpi_other_find();
    for (int i = 0; other && i < RKC_MPI_C_FUNCTIONS; i++) {
        struct rkc_mpi_function *function = &rkc_mpi_functions[i];
        const void *found = dlsym(other, rkc_mpi_name(function));
        if (found)
            memcpy(&function->next, &found, sizeof found);
    }
    return other != NULL;
}

static void find(void)
{
    if (leave_to_other())
        return;
    const void *known = dlsym(RTLD_NEXT, "PMPI_Initialized");
    const void *mpi = known ? object_of(known) : NULL;
    int missing = !known;
    for (int i = 0; mpi && i < RKC_MPI_C_FUNCTIONS; i++) {
        struct rkc_mpi_function *function = &rkc_mpi_functions[i];
        const void *own;
        memcpy(&own, &function->next, sizeof own);
        const void *first = dlsym(RTLD_DEFAULT, rkc_mpi_name(function));
        const void *next = dlsym(RTLD_NEXT, rkc_mpi_name(function));
        missing |= !first || !next;
        if (first && first != own && !is_own(first))
            is_foreign(first, mpi);
        if (next && next != own && is_foreign(next, mpi))
            memcpy(&function->next, &next, sizeof next);
    }
    if (missing)
        dlerror(); /* the program's is not to tell of ours */
}

void rkc_mpi_next_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

const char *rkc_mpi_next_tool(int i)
{
    return i < tools.n ? tools.file[i] : NULL;
}
