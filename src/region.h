/* region.h - the table of regions: one handle for each kind and name. */
#ifndef RKC_REGION_H
#define RKC_REGION_H

#include "calltree.h"
#include "runtime.h"

/* A handle that does nothing. */
extern struct rkc_region rkc_region_nothing;

/* Make the regions that call trees need. Called once, with the image. 0 or RKC_ENOMEM. */
int rkc_region_init(struct rkc_image *image, struct rkc_tree_names *names);

/* Find or make; the name is valid. Filters apply to all kinds but root and other. */
struct rkc_region *rkc_region_intern(enum rkc_region_kind kind, const char *name, const char *file,
                                     int line);

#endif
