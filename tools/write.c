/* write.c - `rankclock write`: the process that writes the result file for a measured program.
 *
 * The program waits for one line of answer, and the file must not depend on how the program
 * or its terminal end meanwhile. */
#include "autoconf.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "sink/hdf5.h"
#include "sink/unstream.h"
#include "tools.h"

/* Write errors come back as errno. What a terminal, a batch system or a launcher sends to all
 * processes of a job is meant for the program: when that ends, so does what it sends us. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGPIPE, SIGXFSZ, SIGHUP,  SIGINT,  SIGQUIT,
                                  SIGTERM, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
}

/* The program waits: do not give memory back only to ask for it again. */
static void keep_memory(void)
{
#ifdef M_MMAP_THRESHOLD /* glibc's */
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 4 << 20);
#endif
}

int rkc_tool_write(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        fputs("rankclock: write takes no argument; it is started by the library\n", stderr);
        return 1;
    }
    ignore_signals();
    keep_memory();

    static const struct rkc_unstream_target target = {rkc_sink_hdf5_open};
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_sink *sink;
    int status = rkc_unstream(STDIN_FILENO, &target, &sink, text);
    struct rkc_sink_hdf5_report report = {.text = "", .note = ""};
    if (sink)
        rkc_sink_hdf5_report(sink, &report);
    if (status == 0) {
        if (report.note[0])
            printf("note %s\n", report.note);
        printf("ok %s\twrite_ns=%" PRId64 " fsync_ns=%" PRId64 "\n", text, report.write_ns,
               report.fsync_ns);
    } else {
        const char *why = report.text[0] ? report.text : text[0] ? text : rkc_strerror(status);
        if (sink)
            rkc_sink_hdf5_abandon(sink);
        printf("error %.*s\n", (int)strcspn(why, "\n"), why);
    }
    fflush(stdout);
    if (sink)
        sink->ops->close(sink);
    return status != 0;
}
