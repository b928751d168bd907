/* notes.h - what a program that is to be killed notes of itself, in the page of a file that
 * outlives it: each region and call before it begins, and again after it ended.
 */
#ifndef TESTS_NOTES_H
#define TESTS_NOTES_H

#include <stdatomic.h>
#include <stdint.h>

/* What is noted, and its call path. FRESH stands for many, "fresh 0", "fresh 1" …, visited once
 * each; WORK and PACK are another thread's. */
#define NOTED_LIST(X)                         \
    X(SETUP, "(run)/setup")                   \
    X(STEP, "(run)/step")                     \
    X(HALO, "(run)/step/halo")                \
    X(IRECV, "(run)/step/halo/MPI_Irecv")     \
    X(ISEND, "(run)/step/halo/MPI_Isend")     \
    X(WAITALL, "(run)/step/halo/MPI_Waitall") \
    X(COMPUTE, "(run)/step/compute")          \
    X(FLUX, "(run)/step/compute/flux")        \
    X(FRESH, "(run)/step/fresh ")             \
    X(ALLREDUCE, "(run)/step/MPI_Allreduce")  \
    X(WORK, "(run)/work")                     \
    X(PACK, "(run)/work/pack")

enum {
#define NOTED_ENUM(id, path) NOTED_##id,
    NOTED_LIST(NOTED_ENUM)
#undef NOTED_ENUM
        NOTED
};

/* Bytes of each message, and of what is reduced. */
enum { MESSAGE_BYTES = 4096, REDUCED_BYTES = 8 };

enum { STAGE_BEGUN = 1, STAGE_WORKING, STAGE_LAST, STAGE_FINALIZED };

struct notes {
    _Atomic int32_t pid, rank, size; /* rank: -1 until MPI_Init is over */
    _Atomic int32_t stage;
    _Atomic int32_t struck; /* 1 before it does what it dies of */
    struct {
        _Atomic int64_t begun, ended;
    } of[NOTED];
};

#endif
