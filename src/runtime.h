/* runtime.h - the run: when recording begins, what it is called, and how it ends.
 *
 * The rkc_private_ functions are what librankclock-mpi needs of librankclock; both are
 * always of one build.
 */
#ifndef RKC_RUNTIME_H
#define RKC_RUNTIME_H

#include <stdint.h>

#include <rankclock/region.h>

#include "config.h"
#include "image.h"
#include "thread.h"

/* A region as the program's handle points to it. Lives outside the image, since a forked
 * child may still hold it. */
struct rkc_region {
    uint32_t unit;  /* of its block in the image; 0: not recorded; region.h looks at it */
    uint32_t hot;   /* the same, or RKC_NEVER_HOT when each begin and end must be looked at */
    _Atomic uint32_t every;
    uint32_t hash;
    const char *name;
    uint32_t length;
    uint8_t kind;
};

/* Begin recording if the settings want it and it has not begun. Returns 1 when the process
 * records, else 0. Called at the first region and at the first MPI call. */
RKC_API int rkc_private_start(void);

/* Whether it records now, without beginning it. */
RKC_API int rkc_private_recording(void);

/* The settings; the defaults before rkc_private_start. */
RKC_API const struct rkc_config *rkc_private_config(void);

/* The region of an MPI function; its handle does nothing when filtered out or off. */
RKC_API struct rkc_region *rkc_private_mpi_region(const char *name);

/* Begin a region in any state of the thread; begins recording if need be. Returns the
 * node begun, or NULL when this visit is not timed (its end must be called all the same,
 * unless the region's unit is 0). */
RKC_API struct rkc_node *rkc_private_begin(struct rkc_region *region);

/* End a region in any state of the thread. 0, RKC_ENOTOPEN or RKC_EOFF. */
RKC_API int rkc_private_end(struct rkc_region *region, uint64_t now);

/* Put a fact of the job into the image; a later one of the same key replaces it. */
RKC_API void rkc_private_fact(const char *key, const char *value);

/* Tell who we are, once MPI knows. Warnings about settings are said by rank 0. */
RKC_API void rkc_private_world(int rank, int size, int local_rank);

/* What converts ticks now. */
RKC_API double rkc_private_ns_per_tick(void);

/* Take a pair of clock readings if the last is old enough. */
RKC_API void rkc_private_calibrate(int now);

/* The image; its base is NULL while there is none. */
RKC_API struct rkc_image *rkc_private_image(void);

/* Name of the result file wanted, expanded; and of the folder for images, NAME.partial. */
RKC_API const char *rkc_private_output(void);

/* The folder in which the program began; "." where that cannot be told. */
RKC_API const char *rkc_private_folder(void);

/* Path of the command that writes: RANKCLOCK_WRITER, else ../bin/rankclock beside the
 * library, else the one found at configure time. */
RKC_API const char *rkc_private_writer(void);

/** End recording in this process: open regions are kept as open, the clock is calibrated,
 * the image's state set. What it holds stays readable.
 */
RKC_API void rkc_private_stop(enum rkc_state state);

/** Save the image as NAME.partial/rank-N.rkci and say so, once for all ranks of a folder.
 *
 * The folder is beside the result file wanted; where that cannot be, in the working directory; else
 * in $TMPDIR. One with another run's images is left alone, and the next number taken: run.2.h5.partial.
 *
 * @param why  for the message: "the program called MPI_Abort"
 *
 * @return 0, or RKC_EIO: it cannot be saved, and a spool file is what is left of it (logged)
 */
RKC_API int rkc_private_save(const char *why);

/* By what an MPI program was begun. A world ends in MPI_Finalize, for all ranks at once; the end of
 * a session says nothing of other processes, so that the run ends when this one exits. */
enum rkc_model { RKC_MODEL_NONE, RKC_MODEL_WORLD, RKC_MODEL_SESSIONS_OPEN, RKC_MODEL_SESSIONS_CLOSED };

RKC_API void rkc_private_model(enum rkc_model model);

/* The run is written (or its image saved): nothing is left to do at exit, and the spool
 * file can go. */
RKC_API void rkc_private_done(void);

#endif
