/* launch_env.c - a value that the user gave is extended where it stands, never replaced. */
#include "autoconf.h"

#include "launch_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *rkc_launch_join(const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

char *rkc_launch_preload(const char *preload, const char *library)
{
    if (!preload || !*preload)
        return rkc_launch_join(library, "", "");
    size_t length = strlen(library);
    for (const char *at = strstr(preload, library); at; at = strstr(at + 1, library)) {
        int starts = at == preload || strchr(": ", at[-1]);
        if (starts && (at[length] == '\0' || strchr(": ", at[length])))
            return rkc_launch_join(preload, "", "");
    }
    return rkc_launch_join(preload, ":", library);
}

char *rkc_launch_assignment(const char *word, const struct rkc_launch *launch)
{
    const char *equals = strchr(word, '=');
    char *value = rkc_launch_preload(equals ? equals + 1 : launch->preload, launch->library);
    char *text = value ? rkc_launch_join(RKC_PRELOAD, "=", value) : NULL;
    free(value);
    return text;
}

int rkc_launch_is_preload(const char *word)
{
    return strcmp(word, RKC_PRELOAD) == 0 ||
           strncmp(word, RKC_PRELOAD "=", strlen(RKC_PRELOAD "=")) == 0;
}

void rkc_launch_append(char **list, char separator, const char *item)
{
    if (!*list || !item) {
        free(*list);
        *list = NULL;
        return;
    }
    char *longer = rkc_launch_join(*list, **list ? (char[]){separator, '\0'} : "", item);
    free(*list);
    *list = longer;
}

char *rkc_launch_list(const char *list, char separator, const struct rkc_launch *launch,
                      int value_in_list)
{
    char *out = rkc_launch_join("", "", "");
    int has_preload = 0;
    while (*list) {
        size_t length = strcspn(list, (char[]){separator, '\0'});
        char *item = strndup(list, length);
        if (item && rkc_launch_is_preload(item)) {
            int is_valued = value_in_list || strchr(item, '=');
            char *longer = is_valued ? rkc_launch_assignment(item, launch)
                                     : rkc_launch_join(RKC_PRELOAD, "", "");
            free(item);
            item = longer;
            has_preload = 1;
        }
        rkc_launch_append(&out, separator, item);
        free(item);
        list += length + (list[length] != '\0');
    }
    if (!has_preload) {
        char *item = value_in_list ? rkc_launch_assignment(RKC_PRELOAD, launch)
                                   : rkc_launch_join(RKC_PRELOAD, "", "");
        rkc_launch_append(&out, separator, item);
        free(item);
    }
    for (size_t i = 0; launch->names[i]; i++)
        rkc_launch_append(&out, separator, launch->names[i]);
    return out;
}

char *rkc_launch_export(const char *list, const struct rkc_launch *launch, int value_in_list)
{
    int none = strcmp(list, "NONE") == 0 || strcmp(list, "NIL") == 0;
    return rkc_launch_list(none ? "" : list, ',', launch, value_in_list);
}
