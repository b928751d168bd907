/* pack.h - a profile as one run of bytes, for messages between ranks and for the writer. */
#ifndef RKC_PACK_H
#define RKC_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "profile.h"

/* Append `profile` to `buffer`, its numbers, transfers and waits included where it has them. Only
 * metrics with ranks and buckets that are not 0 take room. 0 or RKC_ENOMEM. Begins with a magic
 * number that tells byte order and layout. */
int rkc_profile_pack(const struct rkc_profile *profile, struct rkc_buffer *buffer);

/* Make `profile` (uninitialised before) from `cursor`. Every count and index is checked.
 * 0, RKC_ENOMEM, or RKC_EFORMAT; on failure `profile` is as after rkc_profile_free. */
int rkc_profile_unpack(struct rkc_profile *profile, struct rkc_cursor *cursor);

/* The rows of transfers and waits alone. To merge them needs map[path], the index in `into` of
 * each of the n paths that they are of; NULL: the same. 0, RKC_ENOMEM, or RKC_EFORMAT, with
 * `into` changed in part. */
int rkc_profile_pack_mpi(const struct rkc_profile *profile, struct rkc_buffer *buffer);
int rkc_profile_merge_packed_mpi(struct rkc_profile *into, const uint32_t *map, uint32_t n,
                                 struct rkc_cursor *cursor);

/* What packing them takes at most: for rows of one rank, and for all of them together. */
enum {
    RKC_PACKED_MPI_BYTES = 32,
    RKC_PACKED_TRANSFER_BYTES = 61, /* and RKC_PACKED_BUCKET_BYTES for each size there is */
    RKC_PACKED_BUCKET_BYTES = 9,
    RKC_PACKED_WAIT_BYTES = 52,
};

/* As rkc_profile_pack and rkc_profile_unpack, numbers alone. */
int rkc_numbers_pack(const struct rkc_numbers *numbers, struct rkc_buffer *buffer);
int rkc_numbers_unpack(struct rkc_numbers *numbers, struct rkc_cursor *cursor);

/* Add packed numbers of the same window to `into`: rkc_numbers_unpack and rkc_numbers_merge
 * at once, touching only what is present. 0, or RKC_EFORMAT with `into` changed in part. */
int rkc_numbers_merge_packed(struct rkc_numbers *into, struct rkc_cursor *cursor);

/* The same for numbers of the paths 0 .. n - 1 of another numbering: map[path] is that of
 * `into`, which has all paths. */
int rkc_numbers_merge_mapped(struct rkc_numbers *into, const uint32_t *map, uint32_t n,
                             struct rkc_cursor *cursor);

/* Take one rank's values out of its packed numbers: add them to values[metric][map[path]] for the
 * metrics in `metrics` (bits), which were RKC_ABSENT or a value before; `stride` is the distance
 * between metrics in numbers. 0 or RKC_EFORMAT. */
int rkc_numbers_take_row(struct rkc_cursor *cursor, const uint32_t *map, uint32_t n,
                         uint32_t metrics, uint32_t n_paths, size_t stride, int64_t *values);

/* One path of one rank, in the form rkc_numbers_unpack reads, for a rank that packs its
 * values without building statistics first. `values` holds RKC_METRICS numbers,
 * RKC_ABSENT where not measured; `hist` may be NULL. Call rkc_numbers_pack_begin once, then
 * rkc_numbers_pack_path for each of the n_present paths that the rank has, in rising order.
 * Whether memory sufficed is in buffer->failed. */
void rkc_numbers_pack_begin(struct rkc_buffer *buffer, uint32_t first, uint32_t n,
                            uint32_t n_present);
void rkc_numbers_pack_path(struct rkc_buffer *buffer, uint32_t path, int32_t rank,
                           const int64_t values[RKC_METRICS], const struct rkc_path_hist *hist);

/* Where n_present was not known, say so behind them: `begin` is the buffer's size before. */
void rkc_numbers_pack_end(struct rkc_buffer *buffer, size_t begin, uint32_t n_present);

#endif
