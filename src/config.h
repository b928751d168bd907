/* config.h - the RANKCLOCK_* environment variables: one table, read once. */
#ifndef RKC_CONFIG_H
#define RKC_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <rankclock/status.h>

enum { RKC_PATTERN_MAX = 4096, RKC_FILTER_MAX = 4096 };

enum rkc_rows_setting { RKC_ROWS_AUTO, RKC_ROWS_ALL, RKC_ROWS_NONE };
enum rkc_command_setting { RKC_COMMAND_FULL, RKC_COMMAND_NAME, RKC_COMMAND_NONE };
enum rkc_pcontrol_setting { RKC_PCONTROL_STANDARD, RKC_PCONTROL_IPM };
enum rkc_gpu_setting { RKC_GPU_OFF, RKC_GPU_AUTO, RKC_GPU_ON };

/* A variable as users see it: name, default, and meaning in one sentence. */
struct rkc_setting {
    const char *name;
    const char *fallback;
    const char *meaning;
};

struct rkc_config {
    int on;
    int mpi;
    int tsc;
    int rows;           /* enum rkc_rows_setting */
    int command;        /* enum rkc_command_setting */
    int pcontrol;       /* enum rkc_pcontrol_setting */
    int gpu;            /* enum rkc_gpu_setting */
    int gpu_sync;       /* wait for the device at each end of a GPU region */
    int gpu_events;     /* visits that may be pending on a thread */
    int mpi_sync;       /* a timed barrier before each blocking collective */
    int matrix_peers;   /* ranks whose messages are counted one by one */
    int verbose;        /* RKC_LOG_WARNING … RKC_LOG_DETAIL */
    unsigned mode;      /* permissions of the file */
    int finalize_timeout_s;
    int snapshot_signal; /* SIGUSR1, SIGUSR2, or 0 for none */
    char output[RKC_PATTERN_MAX];
    char include[RKC_FILTER_MAX], exclude[RKC_FILTER_MAX]; /* globs, comma separated */
    char spool[RKC_PATTERN_MAX]; /* "auto", a folder, or "" when off */
    char writer[RKC_PATTERN_MAX];
    char run_id[128];
};

/* All variables, in the order to show them. */
const struct rkc_setting *rkc_config_settings(size_t *n);

/** Check a value without using it.
 *
 * @param why  on failure what would be right, without a full stop
 *
 * @return 0, RKC_EARG for a malformed value, or RKC_ENOTFOUND for an unknown variable
 */
int rkc_config_check(const char *name, const char *value, char *why, size_t size);

/* What is wrong with one variable of the environment. */
struct rkc_config_problem {
    char text[256];
};

/** Read the environment. Malformed and unknown variables leave the default.
 *
 * @param config  all zero, or read before
 * @param problems  filled with up to `max` of them, to be logged once the rank is known
 *
 * @return the number of problems
 *
 * Under AT_SECURE nothing is read and recording is off.
 */
size_t rkc_config_read(struct rkc_config *config, struct rkc_config_problem *problems, size_t max);

/* RANKCLOCK_GPU alone, as rkc_config_read would read it: the driver may be looked for before
 * recording begins, or without it. enum rkc_gpu_setting. */
int rkc_config_gpu(void);

/* What the letters of an output pattern stand for; NULL or "" where there is none. */
struct rkc_pattern_values {
    const char *job, *restart, *host, *program;
    int pid;
};

/** Expand %j %r %h %p %n %% of an output name. A letter without a value disappears
 * together with one separator (. _ -) before it. %r is "r1", "r2" …
 *
 * @return 0, or RKC_EARG for an unknown letter or a result longer than `size`
 */
int rkc_config_expand(const char *pattern, const struct rkc_pattern_values *values, char *out,
                      size_t size);

/* Whether a region of this name is recorded: it matches one of `include` (or that is
 * empty) and none of `exclude`. */
int rkc_config_wants(const struct rkc_config *config, const char *region);

#endif
