/* rules.h - for programs that ask a driver whether it is as rankclock assumes: CUDA's on a machine
 * with a GPU, or its double, which checks the programs and tells nothing of any GPU.
 *
 * They need neither a toolkit nor libcuda to be built: the driver is opened at run time, and what
 * runs on the device is PTX, or on the double its own work. Each trial runs in a process of its
 * own, so that a crash or an error that stays costs no other.
 */
#ifndef TESTS_GPU_RULES_H
#define TESTS_GPU_RULES_H

#include "../fakecuda/cuda_abi.h"
#include "../fakecuda/fakecuda.h"

#include <stdint.h>

enum rule {
#define RULE(id, text) RULE_##id,
#include "rules.def"
    RULES
};

/* The driver's functions; NULL where it has none of the name. */
struct rules_driver {
#define ENTRY(base, version, symbol, traits, parameters) __typeof__(symbol) *symbol;
#include "../fakecuda/entries.def"
};
extern struct rules_driver cuda;
extern void *rules_library;

/* What the double alone has; NULL on a real driver. */
struct rules_double {
    __typeof__(fakecuda_launch) *launch;
    __typeof__(fakecuda_sticky) *sticky;
    __typeof__(fakecuda_calls_synchronizing) *synchronizing;
};
extern struct rules_double on_double;

/* One trial, and the rules that it judges, their names between blanks. */
struct trial {
    void (*run)(void);
    const char *rules;
    int seconds; /* until it is taken to hang; 0: 20 */
};

/* Run the trials, or those of the rules named by the arguments; with --describe say which driver
 * and devices there are. A program's main: returns 0, 1 when a rule was refuted, 77 without a
 * device. */
int rules_main(int argc, char **argv, const struct trial *trials, int n);

/* --- verdicts -------------------------------------------------------------------------------- */

/* Say what the driver did: that confirms a rule or refutes it. */
void judge(enum rule rule, int holds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Say why the rule cannot be tested here. */
void cannot_judge(enum rule rule, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say what was measured; no verdict. */
void measured(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A result as text: number and name. Good for some calls in one argument list. */
const char *result_name(CUresult result);

/* --- the driver ------------------------------------------------------------------------------ */

/* Open the library alone; the trial ends if it cannot be. */
void open_driver(void);

/* Open it, initialise CUDA and make the first device's primary context current. */
void start(void);

/* The number of devices. */
int n_devices(void);

/* The primary context of a device, retained, not current. */
CUcontext primary_context(int device);

CUstream new_stream(unsigned flags);
CUevent new_event(unsigned flags);
CUevent recorded(CUstream stream); /* a timed event that is recorded */

/* --- work ------------------------------------------------------------------------------------ */

/* Once, after start: have the kernels loaded, which waits for the device. */
void warm_up(void);

/* Give a stream of the current context work of about `ns`. */
CUresult work(CUstream stream, uint64_t ns);

/* The same; how long it took by the device's own clocks is in *ns once the stream is done, 0 where
 * it cannot tell. */
CUresult work_measured(CUstream stream, uint64_t ns, uint64_t **took_ns);

/* Give it work that fails; 0 where that cannot be done. */
int work_that_fails(CUstream stream);

int64_t now_ns(void);
void sleep_ms(int ms);

/* Query until it is not NOT_READY, for 10 s at most. */
CUresult wait_for(CUevent event);

#endif
