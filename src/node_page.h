/* node_page.h - the ranks of a world on one node: how many they are, and how many have saved.
 *
 * They tell each other by a page in memory that they share, without a message. It has a name only
 * until all have come, or the last has left.
 */
#ifndef RKC_NODE_PAGE_H
#define RKC_NODE_PAGE_H

#include <stdint.h>

#include "image.h"

/** Join the others, once the world is known.
 *
 * @param n  ranks of the world on this node, or -1 where that is unknown
 *
 * Without a place for the page the process is alone.
 */
void rkc_node_page_join(const struct rkc_image *image, int n);

/* This process's image is saved, or cannot be. Async-signal-safe. */
void rkc_node_page_saved(void);

/* Wait until the others have saved theirs, for so long at most. Async-signal-safe. */
void rkc_node_page_wait(int64_t most_ns);

/* The run ends well for this process. */
void rkc_node_page_leave(void);

#endif
