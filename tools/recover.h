/* recover.h - images become a result file. */
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

/** Make one file of the images of one run and world, that which most of them are of; each other one
 * is left out with a line that says why.
 *
 * @return an exit status: RKC_EXIT_OK, RKC_EXIT_FAILED when some were left out or the file could
 * not be written, RKC_EXIT_USAGE when none could be used
 */
int rkc_recover(const char *const paths[], size_t n, const char *output,
                struct rkc_recovered *recovered);

/* "3 of 4 ranks, PARTIAL". */
const char *rkc_recovered_text(const struct rkc_recovered *recovered,
                               char text[RKC_RECOVERED_TEXT]);

#endif
