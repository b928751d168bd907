/* save.h - a process's image as a file, NAME.partial/rank-N.rkci, for `rankclock recover`. */
#ifndef RKC_SAVE_H
#define RKC_SAVE_H

#include "schema.h"

/* Find the places where images may go, once the result file's name is known. */
void rkc_save_prepare(void);

/** As rkc_private_save, of the image as it is now, and from any thread.
 *
 * @param state   what the saved image says of the process, unless the image itself knows its end;
 *                RKC_STATE_RUNNING for one that goes on
 * @param signal  the signal that ends the process, or 0
 * @param is_last nothing but the end comes after it: once saved so, no image is saved again
 *
 * @return 0, also when another thread has saved the process's end already; or RKC_EIO
 *
 * Async-signal-safe, where the calling thread cannot be in it already: signals are blocked.
 */
int rkc_save_now(enum rkc_state state, int signal, int is_last, const char *why);

#endif
