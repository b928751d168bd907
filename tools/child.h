/* child.h - run another command and wait for it. */
#ifndef RKC_CHILD_H
#define RKC_CHILD_H

#include <stddef.h>

/** Run a command in the foreground, with our stdin, stdout, stderr and environment.
 *
 * @param started  set to 1 if the command could be started
 *
 * @return its exit status as a shell would give it: 128 and the signal's number if a signal
 *   ended it, 127 if there is no such command, 126 if it cannot be run (either said on stderr)
 *
 * Signals sent to us alone are passed on; those sent to the whole process group, or to the whole
 * job, reach the command by themselves, and once only: a second SIGTERM makes Open MPI's mpirun
 * kill its ranks at once.
 */
int rkc_child_run(char *const argv[], int *started);

/** Run a command for what it prints on stdout and stderr, stdin empty, for ten seconds at most.
 * `text` is empty if it could not be run. */
void rkc_child_capture(char *const argv[], char *text, size_t size);

#endif
