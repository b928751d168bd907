/* memory.h - where a buffer of the program's lies, as CUDA's driver tells. */
#ifndef RKC_GPU_MEMORY_H
#define RKC_GPU_MEMORY_H

#include <stdint.h>

#include <rankclock/status.h>

struct rkc_memory {
    uint8_t kind;   /* enum rkc_memory_kind */
    int16_t device; /* as the process counts; -1 for other kinds than RKC_KIND_DEVICE */
};

/** Whether buffers have to be asked about: 1 once the program has a CUDA context that this thread
 * can see: its own current one, or the primary one of any device. Before that all memory is the
 * host's.
 *
 * Thread-safe; keeps errno. It opens no library but the first time, with RANKCLOCK_GPU=on, and
 * makes no context; where no library has come since it was called last it costs less than 1 µs. To
 * be called now and then while it is 0, and not any more after.
 */
RKC_API int rkc_private_memory_look(void);

/** What kind of memory an address is in: one query of the driver's, for an address may be another
 * kind's later; none for NULL, which is no memory, nor when the driver may not be called: in a
 * forked child, after its end, with RANKCLOCK_GPU=off. Then, and where the driver refuses, the kind
 * is unknown.
 *
 * Managed memory has no device: the driver knows where it was allocated, not where its pages are.
 *
 * Thread-safe, needs no current context, breaks no capture. A host function of CUDA's must not call
 * it; neither may it call an MPI that takes device memory.
 */
RKC_API void rkc_private_memory_of(const void *address, struct rkc_memory *memory);

/* Forget what was seen, for tests, which begin anew with another driver. */
void rkc_memory_forget(void);

#endif
