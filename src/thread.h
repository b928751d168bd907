/* thread.h - what the library keeps for each thread of the program, outside the image.
 *
 * What the hot path needs lies in thread-local storage, within two loads of anything; the rest in
 * struct rkc_thread. The gate and those structs lie in memory that a forked child finds zeroed, so
 * that everything is off there: whoever has not seen the gate open must touch nothing else.
 */
#ifndef RKC_THREAD_H
#define RKC_THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include <rankclock/status.h>

#include "image.h"

/* Bits of the gate. The hot path goes on when RKC_GATE_OPEN is the only one; without it this
 * process does not record. */
enum {
    RKC_GATE_OPEN = 1,
    RKC_GATE_PAUSED = 2, /* begins are not recorded */
    RKC_GATE_CLOCK = 4,  /* ticks do not come from the processor's counter */
};

enum { RKC_THREADS_MAX = 4096 };

/* At least a page. */
#if defined(__x86_64__)
#define RKC_GATE_PAGE 4096
#else
#define RKC_GATE_PAGE 65536
#endif

/* A region that was begun but is not recorded: paused, sampled out or beyond a limit. */
struct rkc_hidden {
    uint32_t region; /* unit */
    uint32_t depth;  /* of the recorded region it was begun in */
};

/* What `hot.next_region` is in a loop of polls: no region's unit, for the image's header is there. */
enum { RKC_POLLED = 1 };

/* Where the calling thread is in its call tree. The first line is what a loop of polls needs. */
struct rkc_hot {
    uint32_t next_region;  /* of `next`, or 0; apart, for it must be there before anything else */
    uint32_t poll_id;      /* enum rkc_mpi_id: of the loop, while next_region is RKC_POLLED */
    struct rkc_node *open; /* the innermost open node */
    const char *mpi_frame; /* stack frame of the MPI wrapper the thread is in, or NULL */

    /* A loop of calls of one MPI function that come to nothing; see pmpi/poll.h. It goes on as long
     * as next_region is RKC_POLLED, which everything ends that is begun or ended. */
    struct rkc_poll {
        struct rkc_polls *block; /* the node's */
        struct rkc_node *node, *up;
        void (*next)(void); /* MPI's function */
        uint64_t begin;
    } poll;

    struct rkc_node *next; /* the child of `open` that is expected to begin next */
    struct rkc_ring *ring;
    uint64_t head; /* as in the ring */
    char *base;    /* of the image */
    struct rkc_thread *thread; /* NULL before its first region */
} __attribute__((aligned(64)));

struct rkc_thread {
    struct rkc_hot *hot; /* its thread's; NULL while it has none */
    uint64_t loops;      /* of polls that were begun */
    uint32_t next_free;  /* 1 + slot of the next free one */
    char *base;          /* of the image */
    struct rkc_ring *ring;

    _Atomic uint32_t changing; /* 1 within rkc_thread_change */

    void *mpi;    /* pmpi's own, kept from thread to thread */
    void *polled; /* likewise */
    void *gpu; /* gpu/timed.c's, likewise */

    struct rkc_nodes_block *nodes; /* where the next node comes from */

    struct rkc_hidden *hidden; /* pages of their own: a signal handler may need them */
    uint32_t n_hidden, cap_hidden;
    uint64_t begun_ticks;
} __attribute__((aligned(64)));

/* The calling thread's place. Small, for a library that is opened late finds little room there. */
extern RKC_API _Thread_local struct rkc_hot rkc_private_hot
    __attribute__((tls_model("initial-exec")));

/* A page of its own, which fork wipes. The gate is shut, 0, before rkc_thread_init, after
 * rkc_thread_stop and in a forked child. */
struct rkc_gate_page {
    _Atomic uint32_t gate;
    /* Threads that have pairs of events open or pending: who sees 0 has nothing to poll. */
    _Atomic uint32_t timed_threads;
} __attribute__((aligned(RKC_GATE_PAGE)));

extern RKC_API struct rkc_gate_page rkc_private_gate;

/* Of a library that polls: what its loops look at instead of the gate. A page of its own, too. It
 * says where a thread's rkc_private_hot is, counted from the thread's pointer, which is the same for
 * all threads: the table that the linker has for that would be one page more. */
struct rkc_polls_gate {
    _Atomic intptr_t place; /* 0: shut, or not yet open; look at the gate */
} __attribute__((aligned(RKC_GATE_PAGE)));

/* From now on shut this one with the gate. It is static; any thread, more than once. 0, or RKC_ENOMEM
 * where a forked child would find it open. */
RKC_API int rkc_private_polls_gate(struct rkc_polls_gate *gate);

/* The same, found without a detour; from another library only the former is to be seen. */
extern __attribute__((visibility("hidden"))) struct rkc_gate_page rkc_gate_here;
#ifdef RKC_OUTSIDE
#define RKC_GATE_PLACE rkc_private_gate
#else
#define RKC_GATE_PLACE rkc_gate_here
#endif

static inline uint32_t rkc_gate(void)
{
    return atomic_load_explicit(&RKC_GATE_PLACE.gate, memory_order_relaxed);
}

/* Whether any thread may have events to poll. */
static inline int rkc_gate_timed(void)
{
    return atomic_load_explicit(&RKC_GATE_PLACE.timed_threads, memory_order_relaxed) != 0;
}

/* The calling thread's struct if it has one and this process records, else NULL. */
static inline struct rkc_thread *rkc_thread_own(void)
{
    return rkc_gate() ? rkc_private_hot.thread : NULL;
}

/* Make the calling thread one that has not been seen yet. */
void rkc_thread_forget(void);

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

/* The struct of the i-th thread that was ever there at once, with or without a thread now; NULL past
 * the last. Also when recording has stopped. */
struct rkc_thread *rkc_thread_at(uint32_t i);

/* A new block of the image, as rkc_image_block; takes the lock. */
void *rkc_thread_new_block(enum rkc_block_kind kind, size_t bytes);

/* Make room for more begins that are not recorded. 0 or RKC_ENOMEM. */
int rkc_thread_grow_hidden(struct rkc_thread *thread);

/* Set or clear RKC_GATE_PAUSED. */
void rkc_thread_pause(int paused);

/* The lock of the image and the tables. Signals are blocked while it is held, so that a
 * handler cannot jump out of the middle. */
void rkc_thread_lock(void);
void rkc_thread_unlock(void);

/* The same without the lock, for paths that only the thread itself writes. */
void rkc_thread_signals_block(uint64_t *old_mask);
void rkc_thread_signals_restore(const uint64_t *old_mask);

/* Around changes of nodes that belong together: signals are blocked, and a thread that saves the
 * image goes first. Nothing that could wait for that thread may be done in between, nor the same
 * again. */
void rkc_thread_change(struct rkc_thread *thread, uint64_t *old_mask);
void rkc_thread_changed(struct rkc_thread *thread, const uint64_t *old_mask);

/* Hold all threads off from such changes, having waited a while for those that are at it; and let
 * them go on. A thread held off for too long goes on by itself. Async-signal-safe. */
void rkc_thread_freeze(void);
void rkc_thread_thaw(void);

#endif
