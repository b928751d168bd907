/* publish.h - a file that appears under its name only when it is whole, and replaces none. */
#ifndef RKC_SINK_PUBLISH_H
#define RKC_SINK_PUBLISH_H

#include "sink/sink.h"

struct rkc_publish {
    int fd;          /* of the temporary file, open for reading and writing */
    char *temporary; /* its name, in the folder of `output`; NULL when there is none */
    char *output;    /* the name wanted */
};

/** Create an empty temporary file beside `output`.
 *
 * @param output   name wanted
 * @param mode     permissions of the file, whatever the umask
 * @param publish  to be given to rkc_publish_finish or rkc_publish_abort
 * @param text     on failure what went wrong
 *
 * @return 0, RKC_EARG (no file name in `output`), RKC_ENOMEM or RKC_EIO; after a failure
 *   nothing is left behind
 */
int rkc_publish_begin(const char *output, unsigned mode, struct rkc_publish *publish,
                      char text[RKC_SINK_TEXT_MAX]);

/** Make the temporary file durable and give it its name.
 *
 * @param text  the name it got: that wanted, or with the first free number from 2 on
 *              before the suffix; on failure what went wrong
 *
 * @return 0, RKC_ENOMEM, RKC_EEXIST (no number is free) or RKC_EIO; after a failure the
 *   temporary file is gone
 */
int rkc_publish_finish(struct rkc_publish *publish, char text[RKC_SINK_TEXT_MAX]);

/* Remove the temporary file, if there is one, while it may still be open. */
void rkc_publish_abandon(struct rkc_publish *publish);

/* The same, and free the rest. */
void rkc_publish_abort(struct rkc_publish *publish);

#endif
