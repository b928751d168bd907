/* recover.h - images become a result file.
 *
 *   rkc_recover        which of them are of one run; a file of each world of it
 *   rkc_recover_world  the images of one world, one at a time
 */
#ifndef RKC_RECOVER_H
#define RKC_RECOVER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "schema.h"

enum { RKC_RECOVERED_TEXT = 64 };

/* What a file was made of. */
struct rkc_recovered {
    char path[PATH_MAX]; /* "" where none was written */
    size_t ranks;
    int32_t size; /* of the world */
    enum rkc_file_status status;
    size_t refused; /* images that could not be used */
};

/** Make files of the images of one run, that which most of them are of: one of each of its worlds.
 * Each other image is left out, with a line that says why.
 *
 * @param made  called for each file that was written
 *
 * @return an exit status: RKC_EXIT_OK, RKC_EXIT_FAILED when some were left out or a file could
 * not be written, RKC_EXIT_USAGE when none could be used
 */
int rkc_recover(const char *const paths[], size_t n, const char *output,
                void (*made)(void *context, const struct rkc_recovered *recovered), void *context);

/* "3 of 4 ranks, PARTIAL". */
const char *rkc_recovered_text(const struct rkc_recovered *recovered,
                               char text[RKC_RECOVERED_TEXT]);

/* An image by its header. */
struct rkc_recover_image {
    const char *path;
    int32_t rank, size;  /* -1 until known */
    int64_t until_ticks; /* since it began */
    int64_t begun_unix_ns;
    int32_t pid;
    size_t world;
};

/* The same for images of one world. */
int rkc_recover_world(struct rkc_recover_image *images, size_t n, const char *output,
                      struct rkc_recovered *recovered);

#endif
