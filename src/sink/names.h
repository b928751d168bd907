/* names.h - what the writer's files are called, and what a writer that was killed has left of them. */
#ifndef RKC_SINK_NAMES_H
#define RKC_SINK_NAMES_H

#include <stddef.h>
#include <sys/types.h>

enum { RKC_NAMES_TEMPORARIES = 100, RKC_NAMES_ROOM = 128 };

/** Name of the `i`-th temporary file that a writer may use for `output`: in its folder, hidden,
 * and of this host and process alone.
 *
 * @param i     below RKC_NAMES_TEMPORARIES; numbers below it are stale files
 * @param room  of `name`: the length of `output` and RKC_NAMES_ROOM
 */
void rkc_names_temporary(const char *output, pid_t pid, int i, char *name, size_t room);

/* The n-th name to try for `output`, from 1: run.h5, run.2.h5, run.3.h5 ... Async-signal-safe. */
void rkc_names_number(const char *output, int n, char *name, size_t room);

/** Remove what a writer of this host, ended by now, has left: its temporary files, and the empty
 * file by which it may have reserved the name that it was about to take. */
void rkc_names_clean(const char *output, pid_t pid);

/* Whether a name, without its folder, is that of a temporary file of a writer that ran on this host
 * and has ended. */
int rkc_names_is_left(const char *name);

/** Find what writers have left in the folder of `output`, of whatever host.
 *
 * @param say   is given each temporary file's name, without its folder
 */
void rkc_names_find(const char *output, void (*say)(const char *folder, const char *name));

#endif
