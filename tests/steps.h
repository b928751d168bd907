/* steps.h - take a program through its visits one instruction at a time, and read its image after each
 * as if it had been killed there.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include <stdint.h>

struct steps {
    int64_t instants; /* at which the image was read */
    int64_t bad;      /* of them those at which it was not whole; what was wrong is on stdout */
    int64_t visits;   /* that came from the first to the last */
};

/* Run `program` in a child process, at full speed but between its two calls of steps_here. Its visits of
 * "outer" hold three of "inner" each. Returns 0, or -1 where processes may not be traced. */
int steps_run(void (*program)(void), struct steps *steps);
void steps_here(void);

#endif
