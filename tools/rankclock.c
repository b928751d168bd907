/* rankclock.c - the command: finds the subcommand and hands over to it. */
#include "autoconf.h"

#include "tools.h"

#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *meaning; /* NULL: not for people */
    int guarded;         /* reads result files: may crash inside HDF5 */
};

static const struct subcommand subcommands[] = {
    {"run", rkc_tool_run, "run a program, on its ranks everywhere, with rankclock", 0},
    {"report", rkc_tool_report, "say where the time of a run went", 1},
    {"info", rkc_tool_info, "say what a result file holds", 1},
    {"recover", rkc_tool_recover, "make a result file from what a killed run left", 0},
    {"gather", rkc_tool_gather, "copy what a killed run left on this node", 0},
    {"config", rkc_tool_config, "list the environment variables and their values", 0},
    {"write", rkc_tool_write, NULL, 0},
};

enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands, NEAREST_MAX = 64 };

/* Names of files and what is in them may be anybody's: no line of theirs, no command to a terminal. */
static void clean_line(char *line)
{
    for (unsigned char *at = (unsigned char *)line; *at; at++) {
        if (*at < ' ' || *at == 0x7f)
            *at = '?';
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* C1 in UTF-8 */
            at[0] = at[1] = '?';
    }
}

void rkc_tool_error(const char *format, ...)
{
    char line[2 * PATH_MAX + 1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    clean_line(line);
    fflush(stdout);
    fprintf(stderr, "rankclock: %s\n", line);
}

int rkc_tool_usage(const char *tool, const char *what, const char *argument)
{
    rkc_tool_error("%s: %s %s; see rankclock %s --help", tool, what, argument, tool);
    return RKC_EXIT_USAGE;
}

int rkc_tool_option(int argc, char **argv, int *i, const char *name, char letter,
                    const char **value)
{
    const char *word = argv[*i];
    size_t length = strlen(name);
    int is_long = strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0;
    if (is_long && word[2 + length] == '=') {
        *value = word + 3 + length;
        return 1;
    }
    int is_short = letter && word[0] == '-' && word[1] == letter;
    if (is_short && word[2]) {
        *value = word + 2;
        return 1;
    }
    if (!is_short && (!is_long || word[2 + length]))
        return 0;
    if (*i + 1 >= argc)
        return -1;
    *value = argv[++*i];
    return 1;
}

/* Letters to insert, delete or replace to make one word of the other. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NEAREST_MAX + 1];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= n; j++) {
            size_t cost = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < cost)
                cost = row[j] + 1;
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            row[j] = cost;
        }
    }
    return row[n];
}

const char *rkc_tool_nearest(const char *word, const char *const words[], size_t n)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 2 + 1;
    if (strlen(word) > NEAREST_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strlen(words[i]) > NEAREST_MAX)
            continue;
        size_t distance = edit_distance(word, words[i]);
        if (distance < least) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

static int help(FILE *out)
{
    fputs("usage: rankclock SUBCOMMAND [OPTION]... [ARGUMENT]...\n\n", out);
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        if (subcommands[i].meaning)
            fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].meaning);
    fputs("\n"
          "  rankclock run -- mpirun -n 4 ./prog     measure a program\n"
          "  rankclock report FILE.h5                read the result\n"
          "  rankclock SUBCOMMAND --help             options of a subcommand\n"
          "  rankclock --version                     the version\n"
          "\n"
          "The manual is in rankclock(1), rankclock(3) and rankclock(7).\n",
          out);
    return RKC_EXIT_OK;
}

static int unknown(const char *word)
{
    const char *names[SUBCOMMANDS + 1];
    size_t n = 0;
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        if (subcommands[i].meaning)
            names[n++] = subcommands[i].name;
    names[n++] = "help";
    const char *nearest = rkc_tool_nearest(word, names, n);
    if (nearest)
        rkc_tool_error("no subcommand \"%s\": did you mean \"%s\"?", word, nearest);
    else
        rkc_tool_error("no subcommand \"%s\"; see rankclock --help", word);
    return RKC_EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return RKC_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("rankclock " PACKAGE_VERSION);
        return RKC_EXIT_OK;
    }
    int asks_help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (asks_help && argc == 2))
        return help(stdout);

    const char *name = asks_help ? argv[2] : word;
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        if (strcmp(name, subcommands[i].name) != 0)
            continue;
        char *help_argv[] = {argv[argc - 1], (char[]){"--help"}, NULL};
        if (asks_help)
            return subcommands[i].run(2, help_argv);
        if (subcommands[i].guarded)
            rkc_tool_guard();
        return subcommands[i].run(argc - 1, argv + 1);
    }
    return unknown(name);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 && status == RKC_EXIT_OK) {
        perror("rankclock: cannot write the output");
        status = RKC_EXIT_FAILED;
    }
    /* Without exit handlers: HDF5's complains on stderr after a damaged file. */
    _exit(status);
}
