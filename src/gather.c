/* gather.c - ranks of one program mostly have the same call paths in the same order: rank 0 then
 * sees that the bytes are those of the rank before, and has nothing to look up. */
#include "autoconf.h"

#include "gather.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "clock.h"
#include "finish.h"
#include "log.h"
#include "profile_mpi.h"

enum {
    PACKETS_BYTES = 2 << 20, /* of all ranks, at most */
    PACKET_BYTES = 256 << 10,
    PATHS_MAX = 2048,       /* in all: rank 0 holds the statistics of each */
    ROWS_BYTES = 256 << 10, /* of per-rank values handed over at once */
};

/* What a packet begins with; the bytes of the call paths, those of the numbers, of transfers and
 * waits, the devices and the peers follow. */
struct head {
    int32_t present;  /* 0: the rank has nothing to add */
    int32_t too_long; /* the size agreed on was not enough */
    uint64_t paths_bytes, numbers_bytes, mpi_bytes;
    uint32_t metrics, zero;
    struct rkc_rank_row row;
};

int64_t rkc_gather_bytes(const struct rkc_image *image)
{
    return (int64_t)sizeof(struct head) + rkc_gather_body_bytes(image);
}

void rkc_gather_prepare(struct rkc_gather *gather, const struct rkc_link *link, int64_t bytes)
{
    gather->room = PACKETS_BYTES / link->size;
    if (gather->room > PACKET_BYTES)
        gather->room = PACKET_BYTES;
    gather->bytes = bytes;
    if (gather->bytes > gather->room)
        return;
    /* Memory that is not touched in the end costs nothing. */
    gather->packet.data = calloc(1, (size_t)gather->room);
    gather->packet.capacity = (size_t)gather->room;
    if (link->rank == 0)
        gather->all = malloc((size_t)gather->room * (size_t)link->size);
    if (!gather->packet.data || (link->rank == 0 && !gather->all))
        gather->bytes = INT64_MAX;
}

void rkc_gather_free(struct rkc_gather *gather)
{
    rkc_buffer_free(&gather->packet);
    free(gather->all);
    *gather = (struct rkc_gather){0};
}

/* ---- every rank ---- */

/* The call paths as all ranks that have them pack them: without what is one rank's. Where there
 * are notes they are packed along, and rank 0 finds bytes that are not another rank's. */
static void pack_paths(const struct rkc_local *local, struct rkc_buffer *packet)
{
    struct rkc_profile paths = rkc_profile_bare(&local->paths);
    paths.n_notes = local->paths.n_notes;
    paths.paths_folded = local->paths.paths_folded;
    rkc_profile_pack(&paths, packet);
}

/* Fill gather->packet. Without memory there is nothing in it but the head. */
static void fill_packet(struct rkc_gather *gather, struct rkc_local *local)
{
    struct rkc_buffer *packet = &gather->packet;
    struct head head = {.present = local != NULL};
    rkc_buffer_add(packet, &head, sizeof head);
    if (local) {
        head.row = rkc_local_rank(local);
        head.metrics = local->metrics;
        uint32_t *map = rkc_finish_numbering(local->paths.n_paths);
        pack_paths(local, packet);
        head.paths_bytes = packet->size - sizeof head;
        if (!map || rkc_local_pack(local, map, 0, local->paths.n_paths, packet) != 0)
            head.present = 0;
        head.numbers_bytes = packet->size - sizeof head - head.paths_bytes;
        if (rkc_profile_has_mpi(&local->paths))
            rkc_profile_pack_mpi(&local->paths, packet);
        head.mpi_bytes = packet->size - sizeof head - head.paths_bytes - head.numbers_bytes;
        rkc_buffer_add(packet, local->devices,
                       (size_t)local->row.n_devices * sizeof *local->devices);
        rkc_buffer_add(packet, local->peers, local->n_peers * sizeof *local->peers);
        free(map);
    }
    head.too_long = packet->size > (size_t)gather->bytes;
    memcpy(packet->data, &head, sizeof head);
}

/* ---- rank 0 ---- */

/* A rank that is there. */
struct part {
    struct head head;
    struct rkc_cursor paths, numbers, mpi;
    const char *devices, *peers; /* not aligned */
    const uint32_t *map; /* number of each of its call paths */
    uint32_t *own_map;   /* the same, unless it is another rank's */
    uint32_t n_paths;
};

struct root {
    const struct rkc_link *link;
    const struct rkc_gather *gather;
    struct rkc_sink *sink;
    int64_t write_ns;
    struct part *parts;
    uint32_t n_parts;
    struct rkc_profile merged, missing; /* of the latter the ranks alone */
    struct rkc_finish_sums sums;
    struct rkc_numbers numbers;
    struct rkc_rank_row *ranks; /* of a block of rows */
    int64_t *values;
    struct rkc_rank_device *devices; /* the same, with room for those of all ranks */
    struct rkc_rank_peer *peers;
    size_t n_peers; /* of all ranks */
};

/* Note how long a function of the sink took. */
static int sink_did(struct root *root, int64_t begin_ns, int status)
{
    root->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

static int fail(int status)
{
    rkc_log(RKC_LOG_WARNING, "cannot reduce the profile: %s", rkc_strerror(status));
    return status;
}

static size_t bytes_of_devices(const struct part *part)
{
    return (size_t)part->head.row.n_devices * sizeof(struct rkc_rank_device);
}

static size_t bytes_of_peers(const struct part *part)
{
    return (size_t)part->head.row.n_peers * sizeof(struct rkc_rank_peer);
}

/* Take a part of a packet as a cursor of its own. */
static struct rkc_cursor take_part(struct rkc_cursor *packet, size_t bytes)
{
    const char *at = rkc_cursor_take(packet, bytes);
    return (struct rkc_cursor){.at = at, .end = at ? at + bytes : NULL, .failed = !at};
}

/* Find the parts of a packet. */
static int open_packet(const struct rkc_gather *gather, int rank, struct part *part)
{
    const char *at = gather->all + (size_t)gather->bytes * (size_t)rank;
    struct rkc_cursor packet = {.at = at + sizeof part->head, .end = at + gather->bytes};
    const struct head *head = &part->head;
    memcpy(&part->head, at, sizeof part->head);
    if (head->too_long)
        return 0;
    if (head->row.n_devices < 0 || head->row.n_devices > RKC_RANK_DEVICES_MAX ||
        head->row.n_peers < 0 || head->row.n_peers > RKC_RANK_PEERS_MAX)
        return RKC_EFORMAT;
    part->paths = take_part(&packet, head->paths_bytes);
    part->numbers = take_part(&packet, head->numbers_bytes);
    part->mpi = take_part(&packet, head->mpi_bytes);
    part->devices = rkc_cursor_take(&packet, bytes_of_devices(part));
    part->peers = rkc_cursor_take(&packet, bytes_of_peers(part));
    return packet.failed ? RKC_EFORMAT : 0;
}

static int same_paths(const struct part *a, const struct part *b)
{
    return a->head.paths_bytes == b->head.paths_bytes &&
           memcmp(a->paths.at, b->paths.at, a->head.paths_bytes) == 0;
}

/* Add a rank's call paths, and find out their numbers. */
static int number_paths(struct root *root, struct part *part)
{
    struct rkc_profile theirs;
    struct rkc_cursor cursor = part->paths;
    int status = rkc_profile_unpack(&theirs, &cursor);
    if (status != 0)
        return status;
    part->n_paths = theirs.n_paths;
    part->map = part->own_map = malloc((theirs.n_paths + 1) * sizeof *part->own_map);
    status = part->map ? rkc_profile_merge(&root->merged, &theirs, part->own_map) : RKC_ENOMEM;
    rkc_profile_free(&theirs);
    return status;
}

static int take_packet(struct root *root, int rank, int *again)
{
    struct part *part = &root->parts[root->n_parts];
    int status = open_packet(root->gather, rank, part);
    if (status != 0)
        return status;
    if (!part->head.present)
        return rkc_profile_ranks_add(&root->missing, rank, rank);
    if (part->head.too_long) {
        *again = 1;
        return 0;
    }
    if (root->n_parts > 0 && same_paths(part, part - 1)) {
        part->map = part[-1].map;
        part->n_paths = part[-1].n_paths;
    } else {
        status = number_paths(root, part);
    }
    if (status == 0 && part->head.mpi_bytes > 0)
        status = rkc_profile_merge_packed_mpi(&root->merged, part->map, part->n_paths, &part->mpi);
    root->n_parts++;
    root->n_peers += (size_t)part->head.row.n_peers;
    struct rkc_finish_sums sums = rkc_finish_sums_of(&part->head.row, part->head.metrics);
    rkc_finish_sums_add(&root->sums, &sums);
    return status != 0 ? status : rkc_profile_ranks_add(&root->merged, rank, rank);
}

static int take_packets(struct root *root, int *again)
{
    int status = 0;
    root->parts = calloc((size_t)root->link->size, sizeof *root->parts);
    if (!root->parts)
        return RKC_ENOMEM;
    for (int rank = 0; rank < root->link->size && status == 0 && !*again; rank++)
        status = take_packet(root, rank, again);
    if (root->merged.n_paths > PATHS_MAX)
        *again = 1;
    return status != 0 || root->merged.n_paths > 0 || *again ? status : RKC_ENOMEM;
}

static int add_numbers(struct root *root)
{
    int status = rkc_numbers_init(&root->numbers, 0, root->merged.n_paths);
    for (uint32_t i = 0; i < root->n_parts && status == 0; i++) {
        const struct part *part = &root->parts[i];
        struct rkc_cursor cursor = part->numbers;
        status = rkc_numbers_merge_mapped(&root->numbers, part->map, part->n_paths, &cursor);
    }
    return status != 0 ? fail(status) : 0;
}

/* The rows of the parts first .. first + n - 1, metric by metric. */
static int fill_rows(struct root *root, uint32_t metrics, uint32_t first, uint32_t n,
                     struct rkc_rows *rows)
{
    uint32_t n_paths = root->merged.n_paths;
    size_t stride = (size_t)n * n_paths;
    *rows = (struct rkc_rows){
        .n_ranks = n, .n_paths = n_paths, .ranks = root->ranks, .values = root->values,
        .devices = root->devices, .peers = root->peers};
    char *device = (char *)root->devices, *peer = (char *)root->peers;
    memset(root->values, 0xff, /* absent */
           stride * (unsigned)__builtin_popcount(metrics) * sizeof *root->values);
    for (uint32_t i = 0; i < n; i++) {
        const struct part *part = &root->parts[first + i];
        struct rkc_cursor cursor = part->numbers;
        uint32_t open = part->head.row.open_path;
        memcpy(device, part->devices, bytes_of_devices(part));
        device += bytes_of_devices(part);
        memcpy(peer, part->peers, bytes_of_peers(part));
        peer += bytes_of_peers(part);
        root->ranks[i] = part->head.row;
        root->ranks[i].open_path = open < part->n_paths ? part->map[open] : RKC_NO_PATH;
        int status = rkc_numbers_take_row(&cursor, part->map, part->n_paths, metrics, n_paths,
                                          stride, root->values + (size_t)i * n_paths);
        if (status != 0)
            return fail(status);
    }
    return 0;
}

static int write_rows(struct root *root, uint32_t metrics)
{
    size_t rank_bytes =
        (size_t)root->merged.n_paths * (unsigned)__builtin_popcount(metrics) * sizeof(int64_t);
    size_t fit = rank_bytes > 0 ? ROWS_BYTES / rank_bytes : root->n_parts;
    uint32_t step = fit < 1 ? 1 : fit > root->n_parts ? root->n_parts : (uint32_t)fit;
    root->ranks = malloc((step + 1) * sizeof *root->ranks);
    root->values = malloc(step * rank_bytes + 1);
    root->devices = malloc(((size_t)root->sums.device_uses + 1) * sizeof *root->devices);
    root->peers = malloc((root->n_peers + 1) * sizeof *root->peers);
    if (!root->ranks || !root->values || !root->devices || !root->peers)
        return fail(RKC_ENOMEM);
    int status = 0;
    for (uint32_t first = 0; first < root->n_parts && status == 0; first += step) {
        uint32_t left = root->n_parts - first;
        struct rkc_rows rows;
        status = fill_rows(root, metrics, first, left < step ? left : step, &rows);
        int64_t begin_ns = rkc_clock_monotonic_ns();
        if (status == 0)
            status = sink_did(root, begin_ns, root->sink->ops->rows(root->sink, &rows));
    }
    return status;
}

/* All is there: hand it to the sink, which says itself where it fails. It has work with the call
 * paths while the numbers are added up. */
static int write_all(struct root *root, const struct rkc_job *job, char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_sink *sink = root->sink;
    enum rkc_file_status file = root->missing.n_ranks > 0 ? RKC_FILE_PARTIAL : RKC_FILE_COMPLETE;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = sink->ops->job(sink, job);
    if (status == 0)
        status = sink->ops->profile(sink, &root->merged);
    sink_did(root, begin_ns, status);
    if (status == 0)
        status = add_numbers(root);
    begin_ns = rkc_clock_monotonic_ns();
    if (status == 0)
        status = sink->ops->numbers(sink, &root->numbers);
    sink_did(root, begin_ns, status);
    if (status == 0)
        status = write_rows(root, job->row_metrics);
    begin_ns = rkc_clock_monotonic_ns();
    if (status == 0)
        status = sink->ops->finish(sink, file, root->missing.ranks, root->missing.n_ranks, text);
    return sink_did(root, begin_ns, status);
}

static void free_root(struct root *root)
{
    for (uint32_t i = 0; root->parts && i < (uint32_t)root->link->size; i++)
        free(root->parts[i].own_map);
    free(root->parts);
    rkc_profile_free(&root->merged);
    rkc_profile_free(&root->missing);
    rkc_numbers_free(&root->numbers);
    free(root->ranks);
    free(root->values);
    free(root->devices);
    free(root->peers);
}

/* Understand what all packets are about, or say that they are to be sent in another way. */
static int read_packets(struct root *root, int *again)
{
    if (!root->sink)
        return RKC_EWRITER;
    int status = take_packets(root, again);
    return status != 0 ? fail(status) : 0;
}

static int write_packets(struct root *root, struct rkc_job *job, int rows,
                         char text[RKC_SINK_TEXT_MAX])
{
    int status = rkc_finish_job(job, &root->sums, rows, root->link->size, root->merged.n_paths);
    return status != 0 ? fail(status) : write_all(root, job, text);
}

/* ---- the whole ---- */

/* Most programs have the same call paths on all ranks: rank 0's are what the writer can begin with
 * while all packets are under way. Returns the sink, or NULL when it has failed. */
static struct rkc_sink *plan(struct rkc_sink *sink, const struct rkc_local *local)
{
    if (!sink || !local || !sink->ops->plan)
        return sink;
    return sink->ops->plan(sink, local->paths.n_paths, local->metrics) == 0 ? sink : NULL;
}

/* Rank 0's number to all. */
static int tell(const struct rkc_link *link, struct rkc_gather *gather, int32_t *number,
                int64_t deadline_ns)
{
    int status = link->carrier->tell(link->context, number, (int)sizeof *number, &gather->pending);
    return status != 0 ? status : rkc_private_wait(link->carrier, &gather->pending, deadline_ns);
}

static int send_packets(const struct rkc_link *link, struct rkc_gather *gather)
{
    int status = link->carrier->gather(link->context, gather->packet.data, (int)gather->bytes,
                                       gather->all, &gather->pending);
    if (status != 0)
        return status;
    return rkc_private_wait(link->carrier, &gather->pending, gather->soon_ns);
}

/* A rank that is late may find that it can send its packet, and nobody who takes it: so rank 0
 * says that it was there before it goes to work. */
static int be_root(const struct rkc_link *link, struct rkc_gather *gather, struct rkc_job *job,
                   int rows, struct rkc_sink *sink, char text[RKC_SINK_TEXT_MAX], int64_t *write_ns)
{
    struct root root = {.link = link, .gather = gather, .sink = sink};
    int again = 0;
    rkc_profile_init(&root.merged, 0);
    rkc_profile_init(&root.missing, 0);
    gather->status = read_packets(&root, &again);
    gather->again = again;
    int status = tell(link, gather, &gather->again, gather->soon_ns);
    if (status == 0 && gather->status == 0 && !again)
        gather->status = write_packets(&root, job, rows, text);
    *write_ns = root.write_ns;
    free_root(&root);
    return status;
}

int rkc_gather(const struct rkc_link *link, struct rkc_gather *gather, struct rkc_local *local,
               int rows, struct rkc_sink *sink, char text[RKC_SINK_TEXT_MAX], int64_t *write_ns,
               int *again)
{
    struct rkc_job none;
    if (link->rank == 0)
        sink = plan(sink, local);
    fill_packet(gather, local);
    int status = send_packets(link, gather);
    if (status == 0 && link->rank == 0) {
        rkc_job_init(&none);
        status = be_root(link, gather, local ? &local->job : &none, rows, sink, text, write_ns);
        rkc_job_free(&none);
    } else if (status == 0) {
        status = tell(link, gather, &gather->again, gather->soon_ns);
    }
    if (status == 0 && !gather->again)
        status = tell(link, gather, &gather->status, link->deadline_ns);
    if (status != 0)
        return status;
    struct head head;
    memcpy(&head, gather->packet.data, sizeof head);
    *again = gather->again;
    status = gather->again ? 0 : gather->status;
    if (status == 0 && !head.present && !gather->again)
        status = RKC_ENOMEM;
    rkc_gather_free(gather);
    return status;
}
