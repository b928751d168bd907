/* pipe.h - the sink that streams a profile to `rankclock write`, a process of its own. */
#ifndef RKC_SINK_PIPE_H
#define RKC_SINK_PIPE_H

#include "sink/sink.h"

/** Start the writer process.
 *
 * @param writer    path of the rankclock command
 * @param output    name of the file wanted; a taken name gets a number
 * @param mode      permissions of the file
 * @param deadline_ns  rkc_clock_monotonic_ns() after which reading and writing give up
 * @param sink      the new sink; its `close` ends the stream and frees it
 *
 * @return 0, or
 *   RKC_EWRITER  it could not be started (logged)
 *   RKC_ENOMEM
 *
 * The program sees neither a child (no SIGCHLD, nothing for wait) nor a SIGPIPE. Writing
 * never blocks past the deadline.
 */
int rkc_sink_pipe_open(const char *writer, const char *output, unsigned mode, int64_t deadline_ns,
                       struct rkc_sink **sink);

/* Set another deadline: the writer may be started long before there is something to write. */
void rkc_sink_pipe_set_deadline(struct rkc_sink *sink, int64_t deadline_ns);

#endif
