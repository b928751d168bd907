/* calltree.h - the tree of call paths of a thread: finding and making nodes, ending what
 * does not match, folding the ring.
 *
 * Times are given, never asked for. All functions work on the calling thread's own tree.
 */
#ifndef RKC_CALLTREE_H
#define RKC_CALLTREE_H

#include <stdint.h>

#include <rankclock/status.h>

#include "thread.h"

/* What a call tree needs to know about a region besides its unit. */
struct rkc_tree_region {
    uint32_t unit;  /* of its rkc_region_block */
    uint32_t every; /* 0 or 1: time each visit */
};

/* Units of the regions that the tree itself makes nodes of. */
struct rkc_tree_names {
    uint32_t root, deep, other;
};

/* Prepare trees in `image`; `rate` converts ticks for histograms (see clock.h). */
void rkc_tree_init(struct rkc_image *image, const struct rkc_tree_names *names, uint64_t rate);

/* Take a pair of clock readings and a better rate from it: when the last pair is old
 * enough, or in any case with `force`. The fold does it, too. */
void rkc_tree_calibrate(int force);

/* Let the hot path go on from where the thread is, or keep it away while something must be
 * looked at. */
void rkc_tree_settle(struct rkc_thread *thread);

/* What converts ticks now; see clock.h. */
uint64_t rkc_tree_rate(void);

/* Make a thread's root node. 0 or RKC_ENOMEM. */
int rkc_tree_root(struct rkc_thread *thread);

/* Begin a region, whatever the state of the thread. Returns the node begun, whose `begin`
 * the caller sets to the time read last; NULL when the visit is not timed, which includes
 * a visit inside one of the same region. */
struct rkc_node *rkc_tree_begin(struct rkc_thread *thread, const struct rkc_tree_region *region);

/* End a region at `now`. 0, or RKC_ENOTOPEN after a note. */
int rkc_tree_end(struct rkc_thread *thread, uint32_t region, uint64_t now);

/* End every open region of the thread, the root included, at `now`; what the program left
 * open is counted as unclosed. Folds. */
void rkc_tree_close(struct rkc_thread *thread, uint64_t now);

/* Bring the ring's records into the nodes. */
RKC_API void rkc_private_fold(struct rkc_thread *thread);

/* Count a note; equal kind and region are one. */
void rkc_tree_note(enum rkc_note_kind kind, uint32_t region, uint64_t count);

#endif
