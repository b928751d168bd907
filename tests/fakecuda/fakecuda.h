/* fakecuda.h - control of the double of libcuda.so.1.
 *
 * The double encodes documents, not hardware: what passes on it may still fail on a GPU.
 *
 * Nothing runs in the background. A stream is a queue of operations; when each one ends is worked
 * out when the operation is queued or, where it depends on something that is not known yet (a hold,
 * a host function, another stream), when somebody asks. Copies and kernels with a function take
 * place at that moment. A host function runs on the thread that first asks for a state behind it,
 * once its time has come. Results therefore depend on the order of calls and on the clock alone. A
 * graph's nodes run one after the other.
 *
 * Handles are never reused, so that one that was destroyed is refused with INVALID_HANDLE, and are
 * no addresses: who looks into one crashes. Error codes that the driver documents as leaving the
 * process unusable (214, 700, 702, 710, 714 to 719) stay once they were injected, and 4 ends the
 * driver. In a child of a process that called cuInit every call returns 3.
 *
 * All functions may be called at any time from any thread, but not from a host function. Before
 * the first call of a process these variables of its environment are read:
 *
 *   FAKECUDA_DEVICES=N            fakecuda_devices
 *   FAKECUDA_DRIVER_VERSION=N     fakecuda_driver_version
 *   FAKECUDA_VIRTUAL=1            fakecuda_virtual_clock
 *   FAKECUDA_ZERO_COST=1          fakecuda_zero_cost
 *   FAKECUDA_GPU_CLOCK=OFFSET_NS:DRIFT_PPM:TICK_NS      fakecuda_gpu_clock
 *   FAKECUDA_FAIL=SYMBOL:CODE[:SKIP[:TIMES]],...        fakecuda_fail
 *   FAKECUDA_STICKY=CODE          fakecuda_sticky
 *   FAKECUDA_DEINIT_AT_EXIT=1     fakecuda_deinit at exit, before what was registered by atexit
 *                                 before cuInit
 *   FAKECUDA_KERNEL_NS=[NAME:]NS,...                    fakecuda_kernel without a function; a
 *                                 number alone is for all kernels without a name here
 *   FAKECUDA_NAME=TEXT            the name of every device
 *   FAKECUDA_MIG=1                every device is a MIG instance
 *   FAKECUDA_IPC_DIR=FOLDER       where events shared between processes live; else TMPDIR, /tmp
 *   FAKECUDA_LOG=1                each call and its result, on stderr
 */
#ifndef FAKECUDA_FAKECUDA_H
#define FAKECUDA_FAKECUDA_H

#include <stddef.h>
#include <stdint.h>

#define FAKECUDA_CONTROL __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FAKECUDA_MAX_DEVICES = 16,
    FAKECUDA_MAX_ATTRIBUTES = 256,
    FAKECUDA_MAX_ARGUMENTS = 16,
};

/* --- work on streams; a stream is a CUstream or a cudaStream_t, 0 the legacy stream ---------- */

/** Queue work of a length.
 *
 * Like the three that follow it returns what a launch would: 0, or 201 without a current context
 * for the special handles, 400 for a stream that there is not, or what a capture says to it.
 */
FAKECUDA_CONTROL int fakecuda_launch(void *stream, uint64_t ns);

/** Queue work that ends only by fakecuda_release. */
FAKECUDA_CONTROL int fakecuda_hold(void *stream);

/** End the first of a stream's holds that has not ended, now. 401 if there is none. */
FAKECUDA_CONTROL int fakecuda_release(void *stream);

/** What a launched kernel does: returns its duration in ns.
 *
 * The arguments are copies made at the launch. It is called with the double's lock held and must
 * not call CUDA.
 */
typedef uint64_t (*fakecuda_kernel_fn)(void **arguments, const unsigned grid[3],
                                       const unsigned block[3]);

/** Say what a kernel does, by its mangled or its plain name, before it is launched.
 *
 * @param function       NULL for one that does nothing but take `ns`; else its result counts
 * @param n_arguments    how many arguments it has, FAKECUDA_MAX_ARGUMENTS at most
 * @param argument_sizes  the size of each in bytes
 *
 * @return 0, or 1 (INVALID_VALUE) for too many
 */
FAKECUDA_CONTROL int fakecuda_kernel(const char *name, uint64_t ns, fakecuda_kernel_fn function,
                                     unsigned n_arguments, const size_t *argument_sizes);

/* --- clocks ---------------------------------------------------------------------------------- */

/** Use a clock that stands still but for fakecuda_advance and for waiting, which jumps to the end
 * of what is waited for; off, the default, it is CLOCK_MONOTONIC. */
FAKECUDA_CONTROL void fakecuda_virtual_clock(int on);

/** Move the virtual clock on. */
FAKECUDA_CONTROL void fakecuda_advance(uint64_t ns);

/** The clock that is in use, in ns. */
FAKECUDA_CONTROL int64_t fakecuda_now(void);

/** Set how the devices' clock runs: it shows host time + offset + drift, rounded down to a tick.
 * At first the offset is 7,777,777,777 ns, the drift 0 and the tick 32 ns. */
FAKECUDA_CONTROL void fakecuda_gpu_clock(int64_t offset_ns, double drift_ppm, uint32_t tick_ns);

/** Make calls as cheap as they can be, for benchmarks: the virtual clock, and no lock, so that only
 * one thread may use the double. Records and queries of streams without work then neither allocate
 * nor make a system call. Record, query, elapsed time, cuStreamIsCapturing and
 * cuThreadExchangeStreamCaptureMode do all that they do otherwise, but ask for faults, captures and
 * the driver's state by one word, as long as there is none of them. */
FAKECUDA_CONTROL void fakecuda_zero_cost(int on);

/** Empty the calls that timing makes again and again, to measure what surrounds them: record,
 * query, elapsed time (always 3200 ns), cuStreamIsCapturing and cuThreadExchangeStreamCaptureMode
 * succeed without a look at their arguments, and are not counted. */
FAKECUDA_CONTROL void fakecuda_hollow(int on);

/* --- driver and devices ---------------------------------------------------------------------- */

/** Go back to the state before the first call of all, the environment's settings included. Every
 * handle and pointer is lost; the memory behind the pointers is freed. */
FAKECUDA_CONTROL void fakecuda_reset(void);

/** The number of devices, 0 to FAKECUDA_MAX_DEVICES, of which 1 is the default; before cuInit. */
FAKECUDA_CONTROL void fakecuda_devices(int n);

/** The driver's version as cuDriverGetVersion gives it, from 11000 to 13000, the default. What it
 * is too old for cuGetProcAddress does not find, but dlsym does: for an 11.0 driver without such
 * symbols there is a library of its own, in 11.0/ beside this one, which wants this set to 11000.
 */
FAKECUDA_CONTROL void fakecuda_driver_version(int version);

/** A device's properties, to be read and changed in place. */
struct fakecuda_device {
    char name[64];
    char pci_bus_id[16];
    unsigned char uuid[16];
    unsigned char mig_uuid[16];
    int is_mig; /* cuDeviceGetUuid_v2 then gives mig_uuid */
    size_t memory_bytes;
    int attributes[FAKECUDA_MAX_ATTRIBUTES]; /* by CUdevice_attribute; 0 where not set */
};

/** NULL for an index that is out of range. */
FAKECUDA_CONTROL struct fakecuda_device *fakecuda_device(int index);

/* --- faults ---------------------------------------------------------------------------------- */

/** Let calls of an entry point fail, without any effect.
 *
 * @param symbol  as exported, for example "cuEventDestroy_v2"; the _ptsz twins count as the same
 * @param code    what it returns; 0 takes an earlier fault back
 * @param skip    so many calls work first
 * @param times   so many fail then; negative for all
 *
 * @return 0, or 500 (NOT_FOUND) for a symbol that there is not
 */
FAKECUDA_CONTROL int fakecuda_fail(const char *symbol, int code, int skip, int times);

/** Let every later call that has to do with a context return a code; 0 or a reset of a device takes
 * it back. */
FAKECUDA_CONTROL void fakecuda_sticky(int code);

/** End the driver, as at the exit of a process: every later call returns 4. */
FAKECUDA_CONTROL void fakecuda_deinit(void);

/* --- what was called ------------------------------------------------------------------------- */

/** How often an entry point was called, failures included; -1 for a symbol that there is not. */
FAKECUDA_CONTROL long fakecuda_calls(const char *symbol);

/** How often all of them were. */
FAKECUDA_CONTROL long fakecuda_calls_all(void);

/** How often those were that wait for the device, or may: synchronise calls, copies that are not
 * asynchronous, allocation, destruction of contexts. */
FAKECUDA_CONTROL long fakecuda_calls_synchronizing(void);

/** Set these three to zero. */
FAKECUDA_CONTROL void fakecuda_reset_calls(void);

/** How many CUDA calls were made from host functions, where none is allowed. */
FAKECUDA_CONTROL long fakecuda_callback_violations(void);

/** How many calls there were of entry points that are newer than the driver. A real driver has no
 * such symbol, so none may be made; here they fail with 801 (NOT_SUPPORTED). */
FAKECUDA_CONTROL long fakecuda_calls_too_new(void);

/** How many contexts, streams, events, graphs and modules there are. */
FAKECUDA_CONTROL long fakecuda_handles(void);

#ifdef __cplusplus
}
#endif

#endif
