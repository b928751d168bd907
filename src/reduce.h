/* reduce.h - all ranks' profiles to one, and into the sink. */
#ifndef RKC_REDUCE_H
#define RKC_REDUCE_H

#include <stdint.h>

#include "collect.h"
#include "link.h"
#include "sink/sink.h"

/** Bring the profiles of all ranks to rank 0 and into the sink. Every rank calls it.
 *
 * @param local     this rank's numbers, or NULL when it could not collect them: the file is
 *                  then PARTIAL and names the rank as missing
 * @param rows      rank 0: enum rkc_rows_setting
 * @param sink      rank 0: where to, or NULL when there is none: all ranks then fail at once
 * @param text      rank 0: the name of the file
 * @param write_ns  rank 0: the time spent in the sink
 *
 * @return 0 when the file is published and this rank is in it, else a status, which rank 0
 *   has logged; the rank then should save its image
 *
 * What is needed on a rank grows with the number of call paths, on none with the number of
 * ranks. Not to be called again after RKC_ETIMEOUT or RKC_EMPI.
 */
int rkc_reduce(const struct rkc_link *link, struct rkc_local *local, int rows,
               struct rkc_sink *sink, char text[RKC_SINK_TEXT_MAX], int64_t *write_ns);

#endif
