/* spawn.h - start a process that the measured program cannot notice. */
#ifndef RKC_SPAWN_H
#define RKC_SPAWN_H

#include <sys/types.h>

/** The environment of the program without what is meant for it alone: LD_PRELOAD, and the
 * variables of rankclock and of the MPI launchers, and what tells its HDF5 where to keep files.
 *
 * @return an array to be freed, whose texts are the program's own; NULL without memory
 */
char **rkc_spawn_environment(void);

/** Start `argv[0]` with its stdin on a socket and its stdout and stderr on a pipe.
 *
 * @param argv, envp  as for execve
 * @param pid         of the process
 * @param to          socket to its stdin, close-on-exec
 * @param from        read end of its stdout and stderr, close-on-exec
 *
 * @return 0, or RKC_EWRITER with errno set by what failed; an exec that fails is seen here
 *
 * The process is no child of the program when this returns: no SIGCHLD, nothing for wait.
 * The program's memory is shared, not copied, until the exec, so the size of the program
 * does not matter. Stdin, stdout and stderr closed by the program are no obstacle. No file
 * of the program stays open in the process: who waits for the end of the program's output
 * does not wait for the process. Signals are blocked meanwhile and reset in the process.
 */
int rkc_spawn(char *const argv[], char *const envp[], pid_t *pid, int *to, int *from);

#endif
