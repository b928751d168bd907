/* misc_infos.c - info objects. */
#include "autoconf.h"

#include "every.h"

PROGRAM(infos)
{
    int n = -1, flag = -1, length = 0;
    char value[16] = "", key[MPI_MAX_INFO_KEY] = "";
    MPI_Info info, twin;
    CALL(Info_create, (&info));
    CALL(Info_set, (info, "host", "here"));
    CALL(Info_get_nkeys, (info, &n));
    CHECK(n == 1);
    CALL(Info_get_nthkey, (info, 0, key));
    CHECK(strcmp(key, "host") == 0);
    CALL(Info_get, (info, "host", 15, value, &flag));
    CHECK(flag && strcmp(value, "here") == 0);
    CALL(Info_get_valuelen, (info, "host", &length, &flag));
    CHECK(length == 4);
    CALL(Info_dup, (info, &twin));
    CALL(Info_delete, (info, "host"));
    CALL(Info_free, (&info));
#ifdef RKC_HAVE_MPI_SESSIONS
    length = sizeof value;
    CALL(Info_get_string, (twin, "host", &length, value, &flag));
    CHECK(flag && strcmp(value, "here") == 0);
    CALL(Info_create_env, (0, NULL, &info));
    CALL(Info_free, (&info));
#endif
    CALL(Info_free, (&twin));
}

PROGRAMS(infos) = {P(infos), {NULL, NULL}};
