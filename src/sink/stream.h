/* stream.h - the bytes between a measured program and the writer process.
 *
 * A stream is a run of frames, each a struct rkc_frame and its body. Both ends are of one
 * build and one machine; the reading end checks every length all the same. After the
 * last frame the writer answers with one line: "ok NAME" or "error TEXT".
 */
#ifndef RKC_STREAM_H
#define RKC_STREAM_H

#include <stdint.h>

#include "pack.h"
#include "sink/sink.h"

#define RKC_FRAME_MAGIC 0x324d5453434b52u /* "RKCSTM2", and tells the byte order */

enum rkc_frame_kind {
    RKC_FRAME_OPEN = 1, /* u32 mode, text output */
    RKC_FRAME_JOB,
    RKC_FRAME_PROFILE,  /* rkc_profile_pack */
    RKC_FRAME_NUMBERS,  /* rkc_numbers_pack */
    RKC_FRAME_ROWS,     /* u32 n_ranks, u32 n_paths, struct rkc_rank_row [n_ranks],
                           struct rkc_rank_device of those that have some, then struct
                           rkc_rank_peer, values */
    RKC_FRAME_FINISH,   /* u32 status, ranges */
    RKC_FRAME_PLAN,     /* u32 n_paths, u32 metrics */
};

enum { RKC_FRAME_MAX = 1 << 30 };

struct rkc_frame {
    uint64_t magic;
    uint32_t kind;
    uint32_t zero;
    uint64_t bytes;
};

/* Append a whole frame to `buffer`; 0, RKC_ENOMEM, or RKC_EOVERFLOW with the buffer as it
 * was when the body would be longer than RKC_FRAME_MAX. */
int rkc_stream_open(struct rkc_buffer *buffer, unsigned mode, const char *output);
int rkc_stream_plan(struct rkc_buffer *buffer, uint32_t n_paths, uint32_t metrics);
int rkc_stream_job(struct rkc_buffer *buffer, const struct rkc_job *job);
int rkc_stream_profile(struct rkc_buffer *buffer, const struct rkc_profile *profile);
int rkc_stream_numbers(struct rkc_buffer *buffer, const struct rkc_numbers *numbers);
/* `row_metrics` is that of the job: it tells how many values the rows have. */
int rkc_stream_rows(struct rkc_buffer *buffer, const struct rkc_rows *rows, uint32_t row_metrics);
int rkc_stream_finish(struct rkc_buffer *buffer, enum rkc_file_status status,
                      const struct rkc_rank_range *missing, uint32_t n_missing);

/* Take bodies apart again, to their last byte; 0, RKC_ENOMEM or RKC_EFORMAT. Outputs are
 * set only on success. */
int rkc_unstream_job(struct rkc_cursor *cursor, struct rkc_job *job);
/* `rows` points into the cursor's bytes, which must be aligned to 8 (else RKC_EARG). */
int rkc_unstream_rows(struct rkc_cursor *cursor, struct rkc_rows *rows, uint32_t row_metrics);
/* `ranges` is malloc'ed; NULL for none. */
int rkc_unstream_finish(struct rkc_cursor *cursor, enum rkc_file_status *status,
                        struct rkc_rank_range **ranges, uint32_t *n_ranges);

#endif
