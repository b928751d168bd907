/* image_checks.h - what must hold of every image that can be read, for programs that read many.
 *
 * Each check returns 0 when all is well; else it has said on stdout what is not.
 */
#ifndef TESTS_IMAGE_CHECKS_H
#define TESTS_IMAGE_CHECKS_H

#include "collect.h"

/* Say what is wrong, in one line. Returns 1. */
__attribute__((format(printf, 1, 2))) int image_fault(const char *format, ...);

/* The names of a call path, "(run)/step/halo". */
void image_path_name(const struct rkc_profile *profile, uint32_t path, char *name, size_t size);

/* A call path by its name, or RKC_NO_PATH. */
uint32_t image_path(const struct rkc_local *local, const char *name);

/* Visits of a call path, 0 when it is not there. */
int64_t image_visits(const struct rkc_local *local, const char *name);

/* All that was read is whole: sums, minima, maxima, squares and histograms agree, and so do call
 * paths and those inside them. */
int image_check(const struct rkc_local *local);

/* Each thread has as many visits of "inner" as there are in each of "outer", three; of an open one
 * perhaps fewer. */
int image_check_work(const struct rkc_local *local);

#endif
