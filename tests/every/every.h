/* every.h - small programs that between them call every MPI function once or more with known
 * traffic, and what the library has to count of it.
 *
 *   PROGRAM(name) { ... }      runs on four ranks inside a region of its name
 *
 * makes its MPI calls by the words below, which call and say on this rank what the call is to be
 * counted as. After a program its call paths must hold just that: calls, bytes, entries in the
 * histogram of sizes, requests that were completed, messages by rank, and no other MPI function.
 * What is the driver's own calls PMPI_X, which nobody counts.
 *
 *   CALL(name, (arguments))                    MPI_X: it succeeds, and moves nothing
 *   REFUSED(name, (arguments))                 MPI_X: it fails, and moves nothing
 *   MOVE(name, (arguments), sent, received)    MPI_X: one entry of that many bytes
 *   POST(name, (arguments), sent, received)    the same; a request of it is completed later
 *   ALSO(name, sent, received)                 a further entry of MPI_X, without a call
 *   COMPLETED(name, n)                         so many requests of MPI_X are completed
 *   MESSAGE(rank, bytes), FETCHED(rank, bytes) a message to, or a one-sided fetch from, a rank
 *
 * A name may be written C(name) in a file that includes itself for the large-count forms: it is
 * name_c the second time, as COUNT is MPI_Count, DISPL MPI_Aint and EXTENT MPI_Count.
 */
#ifndef TESTS_EVERY_H
#define TESTS_EVERY_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 4,
    OTHER_WORLD = RANKS, /* a rank that is not of this one */
};

extern int me, left, right;  /* this rank, those beside it in a ring */
extern const MPI_Comm world; /* returns errors, as all communicators here do */

struct every_program {
    const char *name;
    void (*run)(void);
};

/* A function that no program calls, and why. */
struct every_excuse {
    const char *function, *why;
};

/* Run lists of programs, and check that between them and `beginning`, the function that was called
 * first, they have called all of `rows`; the lists end with NULLs. Returns the status of main. */
int every_main(char **argv, const char *beginning, const struct every_program *const *programs,
               const char *const *rows, const struct every_excuse *excuses);

/* Whether the name of the MPI begins like that: for what this one does in its own way. */
int every_is(const char *library);

/* End the recording and MPI. */
void every_end(void);

/* The rest of main in a process that was spawned; in comm_processes.c. */
int every_spawned(MPI_Comm parent);

extern char *every_command; /* that this program was started by */

/* What the words above do. */
void every_called(const char *function, int rc, int refused);
void every_moved(const char *function, int64_t sent, int64_t received);
void every_completed(const char *function, int n);
void every_message(int other, int fetched, int64_t bytes);

/* Check what a program computes. */
void every_check(int truth, const char *what);
#define CHECK(truth) every_check((truth), #truth)

/* A folder for the files of this run, the same on all ranks; it is removed at the end. */
const char *every_folder(void);

#define EVERY_NAME(name) "MPI_" #name
#define CALL(name, args) CALL_(name, args)
#define CALL_(name, args) every_called(EVERY_NAME(name), MPI_##name args, 0)
#define REFUSED(name, args) REFUSED_(name, args)
#define REFUSED_(name, args) every_called(EVERY_NAME(name), MPI_##name args, 1)
#define ALSO(name, sent, received) ALSO_(name, sent, received)
#define ALSO_(name, sent, received) every_moved(EVERY_NAME(name), sent, received)
#define COMPLETED(name, n) COMPLETED_(name, n)
#define COMPLETED_(name, n) every_completed(EVERY_NAME(name), n)
#define MOVE(name, args, sent, received) MOVE_(name, args, sent, received)
#define MOVE_(name, args, sent, received) \
    do {                                  \
        CALL_(name, args);                \
        ALSO_(name, sent, received);      \
    } while (0)
#define POST(name, args, sent, received) POST_(name, args, sent, received)
#define POST_(name, args, sent, received)  \
    do {                                   \
        MOVE_(name, args, sent, received); \
        COMPLETED_(name, 1);               \
    } while (0)
#define MESSAGE(rank, bytes) every_message(rank, 0, bytes)
#define FETCHED(rank, bytes) every_message(rank, 1, bytes)

#define PROGRAM(name) PROGRAM_(EVERY_FORM(name))
#define PROGRAM_(name) PROGRAM__(name)
#define PROGRAM__(name) static void program_##name(void)
#define PROGRAMS(name) PROGRAMS_(EVERY_FORM(name))
#define PROGRAMS_(name) PROGRAMS__(name)
#define PROGRAMS__(name)                              \
    extern const struct every_program every_##name[]; \
    const struct every_program every_##name[]
#define P(name) P_(EVERY_FORM(name))
#define P_(name) P__(name)
#define P__(name)                       \
    {                                   \
        EVERY_WAY #name, program_##name \
    }
#define EVERY_WAY "" /* tells programs apart that are compiled more than once */

#endif

/* ---- the two forms ---- */

#undef C
#undef EVERY_FORM
#undef COUNT
#undef DISPL
#undef EXTENT
#ifndef EVERY_LARGE
#define C(name) name
#define EVERY_FORM(name) name
#define COUNT int
#define DISPL int
#define EXTENT MPI_Aint
#else
#define C(name) C_(name)
#define C_(name) name##_c
#define EVERY_FORM(name) C_(name)
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define EXTENT MPI_Count
#endif
