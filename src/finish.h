/* finish.h - the end of a run: from the image to the result file, or to a saved image.
 *
 *   rkc_private_finish_meet  all ranks have come; meanwhile rank 0 starts the writer, so that it is
 *                            there when it is needed
 *   rkc_private_finish       the file, with all ranks or alone; recording has been stopped
 */
#ifndef RKC_FINISH_H
#define RKC_FINISH_H

#include <stdint.h>

#include <rankclock/status.h>

#include "sink/sink.h"

struct rkc_link;

/* What the job's facts need of each rank before the rows come. Zero it to begin. */
struct rkc_finish_sums {
    int64_t ranks; /* added so far */
    int64_t start_unix_ns, wall_ns, overhead_ns;
    int64_t device_uses; /* devices of each rank */
    uint32_t metrics;    /* bit 1 << metric for each that some rank has */
    uint32_t zero;
};

/* The sums of one rank, and the metrics that it has. */
struct rkc_finish_sums rkc_finish_sums_of(const struct rkc_rank_row *row, uint32_t metrics);
/* Add those of other ranks. */
void rkc_finish_sums_add(struct rkc_finish_sums *into, const struct rkc_finish_sums *from);

/* Complete the facts of the writing rank's job. `setting` is enum rkc_rows_setting, n_ranks
 * the size of the world. 0 or RKC_ENOMEM. */
int rkc_finish_job(struct rkc_job *job, const struct rkc_finish_sums *sums, int setting,
                   int32_t n_ranks, uint32_t n_paths);

/* Its own number for each of n_paths call paths, malloc'ed; NULL without memory. */
uint32_t *rkc_finish_numbering(uint32_t n_paths);

/** Begin the end of this rank and wait for the others, with a word on stderr when that takes long.
 *
 * @param link  the other ranks, with no deadline set; it must stay. Alone: a size of 1
 *
 * @return 0, RKC_EMPI, or RKC_ETIMEOUT after RANKCLOCK_FINALIZE_TIMEOUT
 */
RKC_API int rkc_private_finish_meet(struct rkc_link *link);

/** Write the file; where that fails, save the image.
 *
 * @param status  of the meeting: why it cannot be written, or 0
 *
 * @return 0 or a status (logged); after RKC_ETIMEOUT or RKC_EMPI the link must stay
 */
RKC_API int rkc_private_finish(struct rkc_link *link, int status);

/* All of it for a process by itself. 0 or a status (logged) after the image was saved. */
int rkc_finish_alone(void);

/* Say that recording is off, and why, by one rank for all, and end it. */
RKC_API void rkc_private_refuse(const char *why);

#endif
