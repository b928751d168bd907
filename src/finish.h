/* finish.h - the end of a run: from the image to the result file, or to a saved image.
 *
 *   rkc_private_finish_begin    rank 0 starts the writer, so that it is there when it is needed
 *   rkc_private_finish_wait     for the other ranks
 *   rkc_private_finish_collect  this rank's numbers; recording has been stopped
 *   rkc_private_finish          with all ranks or alone
 */
#ifndef RKC_FINISH_H
#define RKC_FINISH_H

#include <stdint.h>

#include <rankclock/status.h>

#include "sink/sink.h"

struct rkc_carrier;
struct rkc_link;
struct rkc_pending;

/* What the job's facts need of each rank before the rows come. Zero it to begin. */
struct rkc_finish_sums {
    int64_t ranks; /* added so far */
    int64_t start_unix_ns, wall_ns, overhead_ns;
};

/* The sums of one rank. */
struct rkc_finish_sums rkc_finish_sums_of(const struct rkc_rank_row *row);
/* Add those of other ranks. */
void rkc_finish_sums_add(struct rkc_finish_sums *into, const struct rkc_finish_sums *from);

/* Complete the facts of the writing rank's job. `setting` is enum rkc_rows_setting, n_ranks
 * the size of the world. 0 or RKC_ENOMEM. */
int rkc_finish_job(struct rkc_job *job, const struct rkc_finish_sums *sums, int setting,
                   int32_t n_ranks, uint32_t n_paths);

/* Begin the end of this rank. */
RKC_API void rkc_private_finish_begin(int rank);

/** Wait for an operation that ends when all ranks have come, with a word on stderr when that
 * takes long.
 *
 * @return 0, RKC_EMPI, or RKC_ETIMEOUT after RANKCLOCK_FINALIZE_TIMEOUT
 */
RKC_API int rkc_private_finish_wait(const struct rkc_carrier *carrier, struct rkc_pending *pending);

/* Collect the numbers of this rank. What goes wrong is logged. */
RKC_API void rkc_private_finish_collect(void);

/* When whoever waits for messages now has to give up: soon, for all ranks have come. */
RKC_API int64_t rkc_private_finish_deadline(void);

/** Write the file; where that fails, save the image.
 *
 * @param link    the other ranks, with no deadline set; NULL: there are none
 * @param status  0, or why it cannot be written
 *
 * @return 0 or a status (logged); after RKC_ETIMEOUT or RKC_EMPI the link must stay
 */
RKC_API int rkc_private_finish(struct rkc_link *link, int status);

/* All of it for a process by itself. 0 or a status (logged) after the image was saved. */
int rkc_finish_alone(void);

/* Say that recording is off, and why, and end it. */
RKC_API void rkc_private_refuse(const char *why);

#endif
