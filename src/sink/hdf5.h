/* hdf5.h - the sink that is the result file. Only the command has it. */
#ifndef RKC_SINK_HDF5_H
#define RKC_SINK_HDF5_H

#include "sink/sink.h"

/** Begin a result file under a temporary name beside `output`.
 *
 * @param output  name wanted; finish publishes it by link(2), never over an existing file:
 *                a taken name gets a number, "run.h5", "run.2.h5" …
 * @param mode    permissions of the file
 * @param sink    the new sink; `close` without a successful `finish` removes the temporary
 * @param text    on failure what went wrong
 *
 * @return 0, RKC_ENOMEM or RKC_EIO
 */
int rkc_sink_hdf5_open(const char *output, unsigned mode, struct rkc_sink **sink,
                       char text[RKC_SINK_TEXT_MAX]);

/* How a sink of rkc_sink_hdf5_open fared: valid until it is closed. */
struct rkc_sink_hdf5_report {
    int64_t write_ns, fsync_ns; /* spent on the file before and after the data were complete */
    const char *text;           /* what went wrong, or "" */
    const char *note;           /* what the user is to know of a file that is written, or "" */
};

void rkc_sink_hdf5_report(const struct rkc_sink *sink, struct rkc_sink_hdf5_report *report);

/* Remove the temporary file of a sink that has failed, before `close`, in which HDF5 may crash. */
void rkc_sink_hdf5_abandon(struct rkc_sink *sink);

#endif
