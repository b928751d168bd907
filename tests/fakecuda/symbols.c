/* Looking entry points up by name and ABI version, and the twins of those that take a stream. */
#include "double.h"

#include <string.h>

/* --- twins: stream 0 is the per-thread default stream ---------------------------------------- */

#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)
#define ENTRY(base, version, symbol, traits, parameters)
#define STREAM_ENTRY(base, version, symbol, per_thread, traits, parameters, arguments) \
    CUresult symbol##_ptsz parameters                                                  \
    {                                                                                  \
        return symbol arguments;                                                       \
    }
#include "entries.def"

/* --- cuGetProcAddress ------------------------------------------------------------------------ */

typedef void (*any_function)(void);

static const struct {
    const char *base;
    int version;
    any_function function;
    any_function twin; /* or NULL */
} entries[] = {
#define ENTRY(base, version, symbol, traits, parameters) \
    {#base, version, (any_function)symbol, NULL},
#define STREAM_ENTRY(base, version, symbol, per_thread, traits, parameters, arguments) \
    {#base, version, (any_function)symbol, (any_function)symbol##_ptsz},
#include "entries.def"
};

/* The newest form that is no newer than asked for; whether there is any, in *is_known. */
static any_function find(const char *base, int version, int is_per_thread, int *is_known)
{
    any_function found = NULL;
    int found_version = 0;
    *is_known = 0;
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
        if (strcmp(entries[i].base, base) != 0)
            continue;
        if (entries[i].version <= fake.driver_version)
            *is_known = 1;
        if (entries[i].version <= version && entries[i].version > found_version) {
            found_version = entries[i].version;
            found = is_per_thread && entries[i].twin ? entries[i].twin : entries[i].function;
        }
    }
    return found;
}

static CUresult look_up(const char *symbol, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t all =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!symbol || !function || flags & ~all || version > fake.driver_version)
        return CUDA_ERROR_INVALID_VALUE;
    int is_known, is_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    any_function found = find(symbol, version, is_per_thread, &is_known);
    memcpy(function, &found, sizeof(found));
    if (found)
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
    else if (is_known)
        *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    else
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

/* The first form had no other way to say it. */
static CUresult look_up_or_fail(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult result = look_up(symbol, function, version, flags, &status);
    if (result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
        return CUDA_ERROR_NOT_FOUND;
    return result;
}

static CUresult look_up_with_status(const char *symbol, void **function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult ignored;
    return look_up(symbol, function, version, flags, status ? status : &ignored);
}

FAKE_ENTRY(cuGetProcAddress, (const char *symbol, void **function, int version, cuuint64_t flags),
           look_up_or_fail(symbol, function, version, flags))
FAKE_ENTRY(cuGetProcAddress_v2,
           (const char *symbol, void **function, int version, cuuint64_t flags,
            CUdriverProcAddressQueryResult *status),
           look_up_with_status(symbol, function, version, flags, status))
