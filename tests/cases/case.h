/* What the case programs share: who am I, a check, the closing word, and regions by name.
 *
 * Nothing here makes an MPI call behind a case's back, case_whoami apart, so the counts stated
 * in a program's header are the whole truth. Include it first: it asks for GNU extensions.
 */
#ifndef CASE_H
#define CASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me = -1;

#define CHECK(condition) ((condition) ? (void)0 : case_fail(__LINE__, #condition))

/* One line on stdout and a status of 3: both tell a spoilt run from a good one. */
static inline void case_fail(int line, const char *condition)
{
    printf("FAIL rank %d line %d: %s\n", me, line, condition);
    fflush(stdout);
    if (me >= 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

/* Calls MPI_Comm_rank and MPI_Comm_size once each. */
static inline void case_whoami(int ranks_wanted)
{
    int ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(ranks == ranks_wanted);
}

static inline void case_done(void)
{
    if (me != 0)
        return;
    puts("OK");
    fflush(stdout);
}

/* The library's functions are looked up, so that one binary serves with and without it. */
static inline int case_call_region(const char *function, const char *name)
{
    int (*call)(const char *);
    void *found = dlsym(RTLD_DEFAULT, function);

    if (found == NULL)
        return 0;
    memcpy(&call, &found, sizeof call);
    return call(name);
}

static inline int region_present(void)
{
    return dlsym(RTLD_DEFAULT, "rkc_begin") != NULL;
}

static inline int region_begin(const char *name)
{
    return case_call_region("rkc_begin", name);
}

static inline int region_end(const char *name)
{
    return case_call_region("rkc_end", name);
}

#endif
