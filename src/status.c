/* status.c - texts of the status codes; the list itself is in the public header. */
#include "autoconf.h"

#include <rankclock/status.h>

const char *rkc_strerror(int status)
{
    switch (status) {
#define TEXT(name, value, text) \
    case value:                 \
        return text;
        RKC_STATUS_LIST(TEXT)
#undef TEXT
    default:
        return "unknown status";
    }
}

const char *rkc_status_name(int status)
{
    switch (status) {
#define NAME(name, value, text) \
    case value:                 \
        return #name;
        RKC_STATUS_LIST(NAME)
#undef NAME
    default:
        return "RKC_?";
    }
}
