/* thread.h - what the library keeps for each thread of the program, outside the image.
 *
 * A thread finds its struct through one thread-local pointer. The structs lie in memory
 * that a forked child finds zeroed, so that everything is off there without a check of
 * its own: `gate` is the one word the hot path looks at.
 */
#ifndef RKC_THREAD_H
#define RKC_THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include <rankclock/status.h>

#include "image.h"

/* Bits of the gate. The hot path goes on when RKC_GATE_OPEN is the only one. */
enum {
    RKC_GATE_OPEN = 1,
    RKC_GATE_PAUSED = 2, /* begins are not recorded */
    RKC_GATE_HIDDEN = 4, /* the innermost open region may be one that is not recorded */
    RKC_GATE_CLOCK = 8,  /* ticks do not come from the processor's counter */
};

enum { RKC_THREADS_MAX = 4096 };

/* A region that was begun but is not recorded: paused, sampled out or beyond a limit. */
struct rkc_hidden {
    uint32_t region; /* unit */
    uint32_t depth;  /* of the recorded region it was begun in */
};

struct rkc_thread {
    _Atomic uint32_t gate;
    uint32_t next_free; /* 1 + slot of the next free one */
    char *base;         /* of the image */
    struct rkc_ring *ring;

    const char *mpi_frame; /* stack frame of the MPI wrapper the thread is in, or NULL */
    void *mpi;             /* pmpi's own, kept from thread to thread */

    struct rkc_nodes_block *nodes; /* where the next node comes from */

    struct rkc_hidden *hidden; /* pages of their own: a signal handler may need them */
    uint32_t n_hidden, cap_hidden;
    uint64_t begun_ticks;
};

/* The calling thread's struct, or NULL before its first region. */
extern RKC_API _Thread_local struct rkc_thread *rkc_private_thread
    __attribute__((tls_model("initial-exec")));

/* Make the table of threads for an image. 0 or RKC_ENOMEM. */
int rkc_thread_init(struct rkc_image *image);

/* Whether this process records: 0 before rkc_thread_init, after rkc_thread_stop and in a
 * forked child. Async-signal-safe. */
int rkc_thread_alive(void);

/* End all recording in the process for good. Threads in the middle of a region are not
 * waited for: they stop at their next begin or end. */
void rkc_thread_stop(void);

/* Give the calling thread its struct; NULL when recording is off or memory is short. */
struct rkc_thread *rkc_thread_attach(void);

/* Make room for more begins that are not recorded. 0 or RKC_ENOMEM. */
int rkc_thread_grow_hidden(struct rkc_thread *thread);

/* Set or clear RKC_GATE_PAUSED for all threads, present and future. */
void rkc_thread_pause(int paused);

/* The lock of the image and the tables. Signals are blocked while it is held, so that a
 * handler cannot jump out of the middle. */
void rkc_thread_lock(void);
void rkc_thread_unlock(void);

/* The same without the lock, for paths that only the thread itself writes. */
void rkc_thread_signals_block(uint64_t *old_mask);
void rkc_thread_signals_restore(const uint64_t *old_mask);

#endif
