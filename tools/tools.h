/* tools.h - the subcommands of rankclock, and what they share. */
#ifndef RKC_TOOLS_H
#define RKC_TOOLS_H

#include <stddef.h>

/* Exit statuses. `run` gives the command's own, or a shell's 126 and 127. */
enum {
    RKC_EXIT_OK = 0,
    RKC_EXIT_FAILED = 1, /* what was asked for could not be done */
    RKC_EXIT_USAGE = 2,  /* wrong arguments, or an input that cannot be read */
};

/* Each takes its own arguments, argv[0] being its name, and returns an exit status. */
int rkc_tool_run(int argc, char **argv);
int rkc_tool_report(int argc, char **argv);
int rkc_tool_info(int argc, char **argv);
int rkc_tool_recover(int argc, char **argv);
int rkc_tool_gather(int argc, char **argv);
int rkc_tool_write(int argc, char **argv);
int rkc_tool_config(int argc, char **argv);

/* Go on in a child process; this one waits and ends as the child does, with a line if it crashes
 * over its input. For a tool that reads files which anybody may have made. */
void rkc_tool_guard(void);

/* Tell the process that guards this one which file it reads. */
void rkc_guard_reads(const char *path);

/* Whether a result file does no harm, as another process finds out. If it does, one line says so. */
int rkc_guard_bears(const char *path);

/* One line on stderr after "rankclock: ". */
__attribute__((format(printf, 1, 2))) void rkc_tool_error(const char *format, ...);

/* Say that an argument is wrong, and where help is. Returns RKC_EXIT_USAGE. */
int rkc_tool_usage(const char *tool, const char *what, const char *argument);

/* If argv[*i] is the option `name` or `letter` (0: none) followed by its value, as "--name VALUE",
 * "--name=VALUE", "-l VALUE" or "-lVALUE": 1, the value set and *i at the last word of the option.
 * 0 if it is something else, -1 if the value is missing. */
int rkc_tool_option(int argc, char **argv, int *i, const char *name, char letter,
                    const char **value);

/* The word that is most like `word`, or NULL if none is. */
const char *rkc_tool_nearest(const char *word, const char *const words[], size_t n);

#endif
