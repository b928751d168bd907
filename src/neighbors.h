/* neighbors.h - what can be known of the other ranks on this node without a message: from the
 * images in the spool, and from their processes.
 *
 * Nothing here is guessed. A rank of which nothing is found, for it lies in another folder, in
 * memory alone or in another container, stays RKC_NEIGHBOR_UNSEEN.
 */
#ifndef RKC_NEIGHBORS_H
#define RKC_NEIGHBORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image.h"

enum rkc_neighbor_state {
    RKC_NEIGHBOR_UNSEEN,  /* it has no image that we can see */
    RKC_NEIGHBOR_RUNS,    /* by its image */
    RKC_NEIGHBOR_ARRIVED, /* the same: it is in MPI_Finalize */
    RKC_NEIGHBOR_WITHOUT, /* its process has MPI, and has not loaded rankclock or is told to leave
                             it off */
};

struct rkc_neighbor {
    int32_t rank;
    uint32_t state;             /* enum rkc_neighbor_state */
    int64_t arrived_unix_ns;    /* of those in MPI_Finalize */
    pid_t pid;                  /* of those without: the process, (-1: one with us was found) */
    unsigned long long started; /* and what tells it from a later one of the same number */
    char *image;                /* the file's name, or NULL; owned */
};

/* Sorted by rank, without the own one. Zero it to begin. */
struct rkc_neighbors {
    struct rkc_neighbor *list;
    size_t n, room;
};

/** Find the images of this run and world in the folders of a spool setting; what was found before
 * is forgotten.
 *
 * @return 0 or RKC_ENOMEM
 */
int rkc_neighbors_look(struct rkc_neighbors *neighbors, const struct rkc_image_header *own,
                       const char *setting);

/** Add the ranks that have no image, by the processes that the same launcher started on this node.
 * All of /proc is read.
 *
 * @return 0 or RKC_ENOMEM; where processes do not tell of which rank they are, none is added
 */
int rkc_neighbors_search(struct rkc_neighbors *neighbors, const struct rkc_image_header *own);

/* Ranks on this node as the launcher told; 0: it did not. */
int rkc_neighbors_expected(void);

/* The one of this rank, or NULL; and the same, added as one unseen if need be (NULL: no memory). */
struct rkc_neighbor *rkc_neighbors_find(const struct rkc_neighbors *neighbors, int32_t rank);
struct rkc_neighbor *rkc_neighbors_get(struct rkc_neighbors *neighbors, int32_t rank);

void rkc_neighbors_free(struct rkc_neighbors *neighbors);

#endif
