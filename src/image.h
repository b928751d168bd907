/* image.h - the live memory of one process's measurement, laid out to be read back.
 *
 * Header, then blocks, each behind a struct rkc_block. Links count units of 64 bytes from
 * the base, never pointers, so that the same bytes mean the same in another process or in
 * a file. A reader walks the blocks and follows node -> parent alone.
 *
 * Who writes what: the header and new blocks under the image's lock; a node, its traffic
 * and its ring by the thread that owns them. What a reader may meet at any instant:
 *   - a visit is open until its node's begin is cleared, and has ended from then on: from the store of
 *     its ring's head on the record tells it, before that the next record, which is of this round;
 *   - a node's sums exist twice; the copy with the larger `applied` holds, the other is
 *     being written. `applied` is the number of the last ring record that went into it, so
 *     a reader knows of each pending record whether the node has it already;
 *   - the least and the largest visit exist once and may be those of pending records;
 *   - the histogram exists once and may be ahead of the sums, by the first so many of the
 *     node's pending records as its buckets hold more than the visits. A full bucket is counted in
 *     another block before it is emptied: in between it is there twice, which is more than can be
 *     pending.
 *
 * A record's node is an address in the process that wrote it, to spare it the arithmetic. The
 * header's `base` says where the image lay there.
 */
#ifndef RKC_IMAGE_H
#define RKC_IMAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "schema.h"
#include "spool.h"
#include "stats.h"

#define RKC_IMAGE_MAGIC UINT64_C(0x0a1a4d49434b5289) /* 89 "RKCIM" 1a 0a */
#define RKC_IMAGE_ORDER 0x01020304u

enum {
    RKC_IMAGE_LAYOUT = 8,
    RKC_UNIT = 64,
    RKC_IMAGE_BYTES_MAX = 1 << 30,
    RKC_HEADER_SIZE = 4096,
    RKC_NIL_UNIT = RKC_HEADER_SIZE / RKC_UNIT, /* a node that is nobody's, never counted */
    RKC_BLOCKS_START = 2 * RKC_HEADER_SIZE,
    RKC_RING_RECORDS = 1024,
    RKC_NODES_PER_BLOCK = 24,
    RKC_DEPTH_MAX = 256,
    RKC_NAMES_MAX = 8192,
    RKC_NODES_MAX = 65536,
    RKC_COMMS_MAX = 1024,
    RKC_SIZES_NEAR = 5,
    RKC_HIGH_BUCKETS = 12,
};

enum rkc_block_kind {
    RKC_BLOCK_REGION = 1,
    RKC_BLOCK_THREAD,
    RKC_BLOCK_NODES,
    RKC_BLOCK_INDEX,   /* children of one node by region; means nothing to a reader */
    RKC_BLOCK_TRAFFIC, /* what an MPI call path moved */
    RKC_BLOCK_HIGH,    /* full buckets of a node's histogram */
    RKC_BLOCK_FACT,    /* "key\0value\0" about the job */
    RKC_BLOCK_NOTE,
    RKC_BLOCK_TIMED,   /* what a GPU region's call path took on the device */
    RKC_BLOCK_DEVICE,  /* a device that the process used */
    RKC_BLOCK_COMM,    /* the members of a communicator */
    RKC_BLOCK_WAIT,    /* a call path's visits in one communicator of several */
    RKC_BLOCK_PEERS,   /* messages by rank */
    RKC_BLOCK_SIZES,   /* the other sizes of what an MPI call path moved */
    RKC_BLOCK_POLLS,   /* a call path's visits in loops of nothing else */
    RKC_BLOCK_KINDS
};

struct rkc_block {
    uint64_t bytes; /* this struct included; a multiple of RKC_UNIT */
    uint32_t kind;
    _Atomic uint32_t count; /* nodes in use; 1 for others once they are complete */
};

struct rkc_image_header {
    _Atomic uint64_t magic; /* stored last */
    uint32_t layout, order;
    uint32_t header_bytes, node_bytes, ring_records, time_buckets;
    _Atomic uint64_t used, backed; /* bytes; no byte beyond `backed` may be touched */
    uint64_t reserve;
    uint64_t base; /* address of the image in its process */

    int32_t pid;
    uint32_t uid;
    _Atomic int32_t rank, size, local_rank; /* -1 until known */
    _Atomic uint32_t state;                 /* enum rkc_state */
    _Atomic int32_t signal;
    _Atomic int32_t thread_level, cpu;
    int32_t clock_source;

    char run_id[128], world_id[128], boot_id[40], host[64], program[64];

    struct {
        _Atomic uint32_t n;             /* pairs published: 1 after the first, then grows */
        uint32_t zero;
        struct rkc_clock_pair pair[3];  /* the first; then two slots in turn: 1 + n % 2 */
        struct rkc_clock_pair end;      /* when measuring ended or the image was saved */
        _Atomic uint32_t ended;
        uint32_t quick_exists;
        uint64_t quick_rate;            /* until two pairs are far enough apart */
    } clock;

    _Atomic uint64_t init_ticks;     /* time in MPI_Init */
    _Atomic uint64_t finalize_ticks; /* our time in MPI_Finalize */
    _Atomic uint32_t pair_cost_ps, call_cost_ps; /* what a region pair, an MPI call costs us */
    _Atomic uint64_t lost;           /* visits that could not be recorded */
    _Atomic uint64_t clock_back;     /* visits whose clock went backwards */
    _Atomic uint64_t overdeep;       /* begins counted in "(deep)" */
    _Atomic uint64_t overnodes;      /* begins counted in "(other)" for want of nodes */
    _Atomic uint64_t overnames;      /* begins counted in "(other)" for want of names */
    _Atomic uint64_t bad_names;
    _Atomic uint64_t untracked, freed; /* requests */
    _Atomic uint64_t overcomms;      /* groups of ranks beyond RKC_COMMS_MAX */
    _Atomic uint32_t n_nodes, n_regions, n_threads;
    uint32_t zero;
    uint64_t pid_space; /* rkc_identity_pid_space, which pid is of */
    _Atomic int64_t arrived_unix_ns; /* when the process came to MPI_Finalize; 0: not yet */
};

_Static_assert(sizeof(struct rkc_image_header) <= RKC_HEADER_SIZE, "the header has a page");

struct rkc_region_block {
    struct rkc_block block;
    uint8_t kind; /* enum rkc_region_kind */
    uint8_t zero[3];
    _Atomic uint32_t flags; /* RKC_WAIT */
    _Atomic uint32_t every;
    int32_t line;
    uint32_t name_bytes, file_bytes; /* without NUL; name, NUL, file, NUL follow */
    char text[];
};

/* Not 0: the clock of a test, or of a machine that just started, may begin there. */
#define RKC_NO_BEGIN UINT64_MAX

struct rkc_sums {
    uint64_t visits; /* timed ones */
    uint64_t sum;    /* ticks */
    uint64_t square_low, square_high;
    _Atomic uint64_t applied;  /* 1 + number of the last ring record in here */
};

/* Of two copies of sums the one in force. */
static inline const struct rkc_sums *rkc_sums_current(const struct rkc_sums sums[2])
{
    uint64_t first = atomic_load_explicit(&sums[0].applied, memory_order_acquire);
    uint64_t second = atomic_load_explicit(&sums[1].applied, memory_order_acquire);
    return &sums[second > first];
}

/* A pair is a node's unit and the unit of its region, unit << 32 | region, in one word, so that
 * both change at once. Where a visit needs more care than the hot path takes, the region is 0. */

struct rkc_node {
    /* What begin and end touch. */
    _Atomic uint64_t begin;  /* ticks of the open visit's begin, or RKC_NO_BEGIN */
    uint64_t self;           /* pair */
    struct rkc_node *up;     /* the parent */
    uint64_t last;           /* pair: the child begun last; RKC_NIL_UNIT and 0 when none */
    uint64_t follow;         /* pair: the sibling begun after this one the last time */
    uint32_t region, depth;  /* region: unit */
    uint32_t recursion;      /* open visits inside the open visit */
    uint32_t traffic;        /* an RKC_BLOCK_TRAFFIC, or 0 */
    _Atomic uint64_t inner;  /* visits inside a visit of the same call path: counted, not timed */

    /* What the fold touches of each. */
    struct rkc_sums sums[2];
    uint64_t min, max; /* ticks; UINT64_MAX and 0 before the first visit */
    uint32_t parent;         /* unit */
    uint32_t child, next;    /* list of children */
    uint32_t index;          /* an RKC_BLOCK_INDEX once they are many */
    uint32_t children;
    _Atomic uint32_t unclosed;
    uint32_t high;   /* a list of RKC_BLOCK_HIGH, or 0 */
    uint32_t filled; /* the bucket that was emptied last because it was full */
    uint16_t hist[RKC_TIME_BUCKETS];

    _Atomic uint64_t sampled_out;
    uint32_t turn;  /* visits begun, where only some are timed */
    uint32_t timed; /* an RKC_BLOCK_TIMED, or 0 */
    uint32_t comm;  /* the RKC_BLOCK_COMM of its first visit, of a collective; RKC_NIL_UNIT: others */
    uint32_t wait;  /* a list of RKC_BLOCK_WAIT, or 0 */
    uint32_t polls; /* an RKC_BLOCK_POLLS, or 0 */
    uint32_t zero[9];
};

_Static_assert(sizeof(struct rkc_node) == 7 * RKC_UNIT, "nodes are whole units");
_Static_assert(offsetof(struct rkc_node, hist) % RKC_UNIT == 0, "a visit touches few lines");

struct rkc_nodes_block {
    struct rkc_block block;
    uint64_t zero[6];
    struct rkc_node node[RKC_NODES_PER_BLOCK];
};

/* How often some neighboring buckets of a node have been full, RKC_HIST_FULL visits each time. */
struct rkc_high_block {
    struct rkc_block block;
    uint32_t node, next;  /* units; next: the node's one before, or 0 */
    uint32_t first, zero; /* bucket */
    uint64_t full[RKC_HIGH_BUCKETS];
};

_Static_assert(sizeof(struct rkc_high_block) == 2 * RKC_UNIT, "its block is full");

#define RKC_HIST_FULL (UINT64_C(1) << 16)

struct rkc_index_block {
    struct rkc_block block;
    uint32_t mask;
    uint32_t slot[]; /* node units; 0 is free */
};

/* Where the two ends of a transfer lie, as this process sees them: enum rkc_memory_kind, and the
 * device if it is one's own memory, else RKC_NO_DEVICE. */
struct rkc_kinds {
    uint8_t send, recv;
    uint8_t send_device, recv_device;
};

enum { RKC_NO_DEVICE = 255 };

/* What a call path moved from and to host memory; what it moved otherwise is in blocks of the
 * same kind, one for each pair of kinds, in the list `next`. Plain stores of the owning thread, or
 * atomic additions where MPI runs with MPI_THREAD_MULTIPLE; every number only grows. */
struct rkc_traffic {
    struct rkc_block block;
    uint32_t node;
    _Atomic uint32_t next; /* unit, or 0 */
    _Atomic uint64_t sent, received; /* bytes */
    _Atomic uint64_t in_flight, blocked; /* ticks */
    _Atomic uint64_t completed;      /* requests */
    /* Of the blocks in the list: */
    struct rkc_kinds kinds;
    _Atomic uint32_t noncontiguous;  /* operations with gaps in memory that is not the host's */
    _Atomic uint64_t ticks;          /* in the calls themselves */
    /* Operations by size: those near the size of the first one here, for most call paths have few
     * sizes; the others in a block of their own. */
    _Atomic uint32_t size_first; /* RKC_SIZE_BUCKETS + the bucket that size[0] is of; 0: none yet */
    _Atomic uint32_t sizes;      /* an RKC_BLOCK_SIZES, or 0 */
    _Atomic uint64_t size[RKC_SIZES_NEAR];
};

_Static_assert(sizeof(struct rkc_traffic) == 2 * RKC_UNIT, "its block is full");

struct rkc_sizes {
    struct rkc_block block;
    uint32_t traffic, zero; /* unit */
    _Atomic uint64_t size[RKC_SIZE_BUCKETS];
};

/* The place of a bucket in rkc_traffic.size; RKC_SIZES_NEAR or more where it has none. */
static inline unsigned rkc_traffic_near(const struct rkc_traffic *traffic, unsigned bucket)
{
    return bucket + RKC_SIZE_BUCKETS -
           atomic_load_explicit(&traffic->size_first, memory_order_relaxed);
}

/* The members of one or more communicators. */
struct rkc_comm_block {
    struct rkc_block block;
    uint64_t key;        /* the same for the same members */
    int32_t size, first; /* ranks, and the lowest of them, in the world */
};

/* A call path's visits in a communicator that is not that of its first visit; of the latter what
 * was measured apart (RANKCLOCK_MPI_SYNC). */
struct rkc_wait_block {
    struct rkc_block block;
    uint32_t node, comm; /* units */
    uint32_t next, zero; /* unit, or 0 */
    _Atomic uint64_t visits, ticks;
    _Atomic uint64_t synced, sync_ticks; /* visits that were measured apart; their time */
};

/* Messages by the rank at the other end: open addressing. Once it is full a larger one is begun,
 * and both count. */
struct rkc_peer_slot {
    _Atomic uint64_t key; /* (1 + rank in the world) << 1, | 1: fetched from there; 0: free */
    _Atomic uint64_t messages, bytes;
};

struct rkc_peers {
    struct rkc_block block;
    uint32_t mask;         /* slots - 1 */
    _Atomic uint32_t used; /* slots */
    _Atomic uint64_t others[2], others_bytes[2]; /* beyond the limit: sent, fetched */
    struct rkc_peer_slot slot[];
};

/* The device side of a GPU region's call path; every number only grows, but for `min_ns`. */
struct rkc_timed {
    struct rkc_block block;
    uint32_t node, zero;
    _Atomic uint64_t visits; /* timed on the device */
    _Atomic uint64_t ns, min_ns, max_ns;
    _Atomic uint64_t lag_visits, lag_ns; /* from the host's begin to the device's, where known */
    _Atomic uint64_t coarse;             /* of the visits, those not exact to the event clock's tick */
    _Atomic uint64_t coarse_ns;          /* the worst resolution among them */
    _Atomic uint64_t unavailable[RKC_GPU_REASONS];
};

/* A device in use, once for each context's device of the process. */
struct rkc_device_block {
    struct rkc_block block;
    int32_t index;          /* as the process counts */
    int32_t driver_version; /* 1000 * major + 10 * minor */
    int32_t numa_node;      /* that the device is near to, or -1 */
    int32_t rank_numa_node; /* of the processor that the process ran on then, or -1 */
    char uuid[48];          /* "GPU-…" or "MIG-…"; "" where unknown */
    char bus_id[20];        /* "0000:3b:00.0" */
    char name[108];
    _Atomic uint64_t covered_ns; /* union of the GPU regions' intervals */
    _Atomic uint64_t ns;         /* their sum */
};

/* What of a call path's visits went by its ring: see pmpi/poll.h. The sums have the first ones, the
 * histogram perhaps more; the times of the rest, at most RKC_POLLS_PENDING of them, are in a ring of
 * their own: visit i in pending[i % RKC_POLLS_PENDING]. */
enum { RKC_POLLS_PENDING = 64 };

struct rkc_polls {
    struct rkc_block block;
    _Atomic uint64_t begin;  /* of the visit begun last: see rkc_polls_begin */
    _Atomic uint64_t visits; /* that have ended */
    uint32_t node, zero;     /* unit */
    uint64_t zeros[3];
    _Atomic uint64_t pending[RKC_POLLS_PENDING]; /* ticks */
    _Atomic uint64_t min, max; /* of all */
    struct rkc_sums sums[2];   /* as a node's; `applied` are visits */
    _Atomic uint64_t hist[RKC_TIME_BUCKETS];
};

_Static_assert(offsetof(struct rkc_polls, pending) == RKC_UNIT, "a visit touches two lines");

/* A begin's lowest bit is that of the number of visits before it: so the store that counts the visit
 * is what it ends with, and it is at no instant both open and counted, or neither. */
static inline uint64_t rkc_polls_stamp(uint64_t ticks, uint64_t visits)
{
    return (ticks & ~UINT64_C(1)) | (visits & 1);
}

/* Visits that the histogram has. */
static inline uint64_t rkc_polls_counted(const struct rkc_polls *polls)
{
    uint64_t counted = 0;
    for (unsigned bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
        counted += atomic_load_explicit(&polls->hist[bucket], memory_order_relaxed);
    return counted;
}

/* When the visit that is open began, in ticks; RKC_NO_BEGIN where none is. */
static inline uint64_t rkc_polls_begin(const struct rkc_polls *polls)
{
    uint64_t begin = atomic_load_explicit(&polls->begin, memory_order_acquire);
    uint64_t visits = atomic_load_explicit(&polls->visits, memory_order_acquire);
    return begin == RKC_NO_BEGIN || ((begin ^ visits) & 1) ? RKC_NO_BEGIN : begin;
}

struct rkc_record {
    _Atomic uint64_t node; /* address, and in its lowest bit the round: see rkc_record_round */
    uint64_t ticks;        /* negative where the clock went backwards: counts as 0 */
};

/* How often the ring has gone round before a record, modulo 2: what was written there in the round
 * before is told from what is being written. */
static inline uint64_t rkc_record_round(uint64_t number)
{
    return number / RKC_RING_RECORDS & 1;
}

/* The address of a record's node. */
static inline uint64_t rkc_record_node(const struct rkc_record *record)
{
    return atomic_load_explicit(&record->node, memory_order_relaxed) & ~UINT64_C(1);
}

struct rkc_ring {
    struct rkc_block block;
    _Atomic uint64_t head; /* records written */
    _Atomic uint64_t tail; /* records folded */
    _Atomic int32_t tid;
    _Atomic uint32_t live; /* 1 while a thread owns it */
    _Atomic uint64_t uses; /* threads that have owned it */
    uint32_t root, zero;
    uint64_t zeros;
    struct rkc_record record[RKC_RING_RECORDS];
};

_Static_assert(offsetof(struct rkc_ring, record) == RKC_UNIT, "its head is one line");

struct rkc_fact_block {
    struct rkc_block block;
    char text[]; /* "key\0value\0" */
};

struct rkc_note_block {
    struct rkc_block block;
    uint32_t kind;   /* enum rkc_note_kind */
    uint32_t region; /* unit, or 0 */
    _Atomic uint64_t count;
    uint32_t next;
};

/* One process's own image. */
struct rkc_image {
    char *base; /* NULL while there is none */
    size_t limit; /* bytes that may be touched */
    size_t reserve;
    struct rkc_spool spool;
    /* Called with the lock held once what comes is in memory alone; or NULL. */
    void (*left_file)(void);
};

static inline void *rkc_image_at(const char *base, uint32_t unit)
{
    return (void *)(uintptr_t)(base + (size_t)unit * RKC_UNIT);
}

static inline uint32_t rkc_image_unit(const char *base, const void *at)
{
    return (uint32_t)((size_t)((const char *)at - base) / RKC_UNIT);
}

static inline struct rkc_image_header *rkc_image_header(const struct rkc_image *image)
{
    return (struct rkc_image_header *)(void *)image->base;
}

static inline uint64_t rkc_pair(uint32_t unit, uint32_t region)
{
    return (uint64_t)unit << 32 | region;
}

static inline uint32_t rkc_pair_unit(uint64_t pair)
{
    return (uint32_t)(pair >> 32);
}

static inline uint32_t rkc_pair_region(uint64_t pair)
{
    return (uint32_t)pair;
}

static inline const struct rkc_sums *rkc_node_current(const struct rkc_node *node)
{
    return rkc_sums_current(node->sums);
}

/* How many of its pending records a node's histogram has already, however often a bucket was full. */
static inline uint32_t rkc_node_ahead(const struct rkc_node *node)
{
    uint64_t counted = 0;
    for (unsigned bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
        counted += node->hist[bucket];
    return (uint32_t)((counted - rkc_node_current(node)->visits) % RKC_HIST_FULL);
}

/** Make an image, in anonymous memory or behind a new file.
 *
 * @param spool  as RANKCLOCK_SPOOL: "auto", a folder, or "" (or NULL) for anonymous memory, which
 *               is used, too, where no folder can be; that is logged by one process for all
 * @param step   bytes made usable at once; 0 for the default of 256 KiB
 *
 * @return 0 or RKC_ENOMEM. The header's magic is set; identity and clock are the caller's.
 */
int rkc_image_create(struct rkc_image *image, const char *spool, size_t step);

/* Give the memory back and remove the spool file. */
void rkc_image_destroy(struct rkc_image *image);

/* A new zeroed block of at least `bytes` (struct rkc_block included), count still 0; NULL
 * when there is no more room. The caller holds the image's lock. */
void *rkc_image_block(struct rkc_image *image, enum rkc_block_kind kind, size_t bytes);

/* Say that a block is complete. */
static inline void rkc_image_publish(struct rkc_block *block)
{
    atomic_store_explicit(&block->count, 1, memory_order_release);
}

/* What a saved image says of itself that the live one does not: what is not RKC_STATE_RUNNING, or
 * 0, stands there already. */
struct rkc_image_end {
    enum rkc_state state;
    int signal;
};

/** Write the used bytes to a file, under a temporary name first.
 *
 * @param end  what the file says of the process where the image knows of no end yet, and that it came
 *             once all was copied, for threads may go on meanwhile; NULL: as the image says
 *
 * @return 0 or RKC_EIO with errno set. Async-signal-safe; one call at a time.
 */
int rkc_image_save(const struct rkc_image *image, const char *path,
                   const struct rkc_image_end *end);

/* An image to read: one's own, or a file's bytes. */
struct rkc_view {
    const char *base;
    size_t bytes; /* readable and in use */
    void *owned;  /* to be freed, or NULL */
    size_t kept;  /* from its beginning, which a file has: see rkc_view_let_go */
    int live;     /* a process was writing: what is in its rings is not to be trusted, ... */
    int still;    /* ... unless no visit ended while it was read, as in one that hangs */
};

/* Whether visits ended while the image was read. */
static inline int rkc_view_moves(const struct rkc_view *view)
{
    return view->live && !view->still;
}

/* The own image, in place, once recording has stopped. */
void rkc_view_own(struct rkc_view *view, const struct rkc_image *image);

/* Give back memory of bytes [from, to) as far as a file has them, whole steps of it: they are read
 * from there again if they are looked at again. */
enum { RKC_VIEW_STEP = 64 << 10 };
void rkc_view_let_go(const struct rkc_view *view, size_t from, size_t to);

/** Read the header alone, checked as rkc_view_open does; the same statuses and `text`. */
int rkc_view_peek(struct rkc_image_header *header, const char *path, char *text, size_t size);

/** Read an image file with pread. Where the process that owns it is alive on this machine, each
 * node is read until it holds still.
 *
 * @param text, size  on failure what is wrong, one line
 *
 * @return 0, RKC_EIO, RKC_EFORMAT, RKC_EVERSION or RKC_ENOMEM
 */
int rkc_view_open(struct rkc_view *view, const char *path, char *text, size_t size);
void rkc_view_close(struct rkc_view *view);

/* The block after `block` (NULL: the first), checked to lie inside the view; NULL at the
 * end or where the chain is broken (*broken is set to 1 then). */
const struct rkc_block *rkc_view_next(const struct rkc_view *view, const struct rkc_block *block,
                                      int *broken);

#endif
