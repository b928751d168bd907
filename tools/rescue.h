/* rescue.h - a run that ended without a file: what its ranks left becomes one. */
#ifndef RKC_RESCUE_H
#define RKC_RESCUE_H

#include <stddef.h>

/** Move the images of a run that are left in the local folders of this node to the folders
 * NAME.partial that belong to its output.
 *
 * @param pattern     RANKCLOCK_OUTPUT, an absolute path that may hold %j and the like
 * @param is_written  whether a world has a complete file: images of its ranks, which could not
 *                    remove them any more, are removed
 * @param found       called with each folder that holds some now
 *
 * Processes that still end are waited for, two seconds at most. What cannot be moved is said.
 */
void rkc_rescue_move(const char *pattern, const char *run_id,
                     int (*is_written)(void *context, const char *world_id),
                     void (*found)(void *context, const char *folder), void *context);

/** Make files of a run's images in a folder NAME.partial, one for each world, and say so.
 *
 * @param shown  a path as the user would write it; what it returns is valid until the next call
 *
 * @return how many were written
 */
int rkc_rescue_recover(const char *folder, const char *run_id, const char *(*shown)(const char *));

#endif
