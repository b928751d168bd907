/* Compares the double's prototypes, versions and constants with NVIDIA's headers, at compile time.
 * It is built where there is a toolkit, and defines nothing. */
/* With the versions that cuda.h no longer offers. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>

#if CUDA_VERSION >= 13000 /* older ones lack the newest entry points */

#define CONSTANT(name, value) _Static_assert((name) == (value), #name);
#include "constants.def"

/* PFN_name_vVERSION is the type of one version of a function. */
#define ENTRY(base, version, symbol, traits, parameters)                                          \
    _Static_assert(__builtin_types_compatible_p(PFN_##base##_v##version, CUresult(*) parameters), \
                   #symbol);
#define STREAM_ENTRY(base, version, symbol, per_thread, traits, parameters, arguments)           \
    ENTRY(base, version, symbol, traits, parameters)                                             \
    _Static_assert(                                                                              \
        __builtin_types_compatible_p(PFN_##base##_v##per_thread##_ptsz, CUresult(*) parameters), \
        #symbol "_ptsz");
#include "entries.def"

_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(sizeof(CUipcEventHandle) == 64, "CUipcEventHandle");
_Static_assert(sizeof(CUdeviceptr) == sizeof(unsigned long long), "CUdeviceptr");
_Static_assert(sizeof(CUresult) == sizeof(unsigned int), "CUresult");
#endif
