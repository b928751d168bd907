/* signals.h - what a signal that ends the program leaves of its measurement: the image, saved. */
#ifndef RKC_SIGNALS_H
#define RKC_SIGNALS_H

#include <rankclock/status.h>

#include "image.h"

/* Look at the dispositions before MPI's beginning, which may change them. Later calls do nothing.
 */
RKC_API void rkc_private_signals_before(void);

/** Take the signals that end the program, where nobody but MPI has a use for them.
 *
 * @param n_local  ranks of the world on this node, or -1 where that is unknown
 *
 * To be called once MPI is up: MPI and others would leave their own handlers out if they met ours.
 */
RKC_API void rkc_private_signals_take(int n_local);

/* Give back what is still ours. */
void rkc_signals_give_back(void);

#endif
