/* rankclock.h - everything a measured program may call. */
#ifndef RANKCLOCK_RANKCLOCK_H
#define RANKCLOCK_RANKCLOCK_H

#include <rankclock/gpu.h>
#include <rankclock/region.h>
#include <rankclock/status.h>

#endif
