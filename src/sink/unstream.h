/* unstream.h - drive a sink by the stream that a measured program sends. */
#ifndef RKC_SINK_UNSTREAM_H
#define RKC_SINK_UNSTREAM_H

#include "sink/sink.h"

/* Opens the sink that a stream asks for; as rkc_sink_hdf5_open. */
struct rkc_unstream_target {
    int (*open)(const char *output, unsigned mode, struct rkc_sink **sink,
                char text[RKC_SINK_TEXT_MAX]);
};

/** Read a stream up to its last frame.
 *
 * @param fd      what to read from
 * @param target  how to open the sink
 * @param sink    the sink, once it is open, else NULL; closed by the caller in any case
 * @param text    the published name, or what went wrong
 *
 * @return 0, RKC_EFORMAT (cut short or damaged), RKC_EIO, RKC_ENOMEM, or the sink's status
 */
int rkc_unstream(int fd, const struct rkc_unstream_target *target, struct rkc_sink **sink,
                 char text[RKC_SINK_TEXT_MAX]);

#endif
