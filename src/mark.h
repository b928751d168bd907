/* mark.h - what a rank lets the others of its run know without a message: marks are symbolic links
 * that lead nowhere and whose text is what there is to know, made at once or not at all.
 */
#ifndef RKC_MARK_H
#define RKC_MARK_H

#include <stddef.h>

#include "image.h"

enum { RKC_MARK_TEXT_MAX = 512 };

/* Say in the folder of this run's images why nobody is to wait any longer; an image was saved
 * before. 0, or RKC_EIO where that cannot be said. */
int rkc_mark_leave(const struct rkc_image_header *header, const char *why);

/* Whether a rank has said so since this process began. */
int rkc_mark_read(const struct rkc_image_header *header, char why[RKC_MARK_TEXT_MAX]);

/* Become the one that speaks for all ranks; beside the result file. 1, 0 where another one is, or
 * RKC_EIO where it cannot be told. */
int rkc_mark_claim(const struct rkc_image_header *header);
/* Not to be it any longer; only who has claimed it calls this. */
void rkc_mark_release(const struct rkc_image_header *header);

#endif
