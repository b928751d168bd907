/* report.c - `rankclock report`: reads the arguments and opens the file. */
#include "autoconf.h"

#include "report.h"
#include "text.h"
#include "tools.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int help(void)
{
    puts("usage: rankclock report [OPTION]... FILE\n"
         "\n"
         "Say where the time of a run went: efficiencies, regions, MPI calls, notes; at most 40\n"
         "lines of 100 columns.\n"
         "\n"
         "  -r, --region NAME  one region, call path (step/halo) or MPI function in detail\n"
         "      --ranks        the ranks one by one\n"
         "      --where        where the ranks were when measuring ended, as of a job that hangs\n"
         "      --matrix       messages and bytes by pair of ranks, by rank and by node\n"
         "  -a, --all          every row, however many\n"
         "  -w, --width N      columns of a line, 80 or more\n"
         "      --explain      what every number means, and the rules of the verdict\n"
         "  -h, --help         this text");
    return RKC_EXIT_OK;
}

struct options {
    const char *file, *region, *width;
    int ranks, where, matrix, all, explain, columns;
};

static int is_flag(const char *word, const char *name, const char *letter, int *flag)
{
    if (strcmp(word, name) != 0 && strcmp(word, letter) != 0)
        return 0;
    *flag = 1;
    return 1;
}

/* 0, or an exit status + 1. */
static int parse(int argc, char **argv, struct options *options)
{
    int wants_help = 0, only_files = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_files || word[0] != '-' || !word[1]) {
            if (options->file)
                return rkc_tool_usage("report", "one file too many:", word) + 1;
            options->file = word;
            continue;
        }
        int taken = rkc_tool_option(argc, argv, &i, "region", 'r', &options->region);
        if (!taken)
            taken = rkc_tool_option(argc, argv, &i, "width", 'w', &options->width);
        if (taken < 0)
            return rkc_tool_usage("report", "no value after", word) + 1;
        if (!taken && !is_flag(word, "--", "--", &only_files) &&
            !is_flag(word, "--ranks", "--ranks", &options->ranks) &&
            !is_flag(word, "--where", "--where", &options->where) &&
            !is_flag(word, "--matrix", "--matrix", &options->matrix) &&
            !is_flag(word, "--all", "-a", &options->all) &&
            !is_flag(word, "--explain", "--explain", &options->explain) &&
            !is_flag(word, "--help", "-h", &wants_help))
            return rkc_tool_usage("report", "no option", word) + 1;
    }
    if (wants_help)
        return help() + 1;
    if (options->width) {
        char *end;
        long columns = strtol(options->width, &end, 10);
        if (*end || columns < 80 || columns > 1000)
            return rkc_tool_usage("report", "a width is 80 to 1000, not", options->width) + 1;
        options->columns = (int)columns;
    }
    if (!options->file && !options->explain)
        return rkc_tool_usage("report", "no file", "to read") + 1;
    return 0;
}

static int print(struct rkc_reader *reader, const struct options *options,
                 const struct rkc_page *page)
{
    struct rkc_report report;
    int status =
        rkc_report_init(&report, reader, options->matrix ? RKC_REPORT_ALL_PAIRS : RKC_REPORT_PAIRS);
    if (status == 0 && options->region)
        status = rkc_report_print_region(&report, page, options->region);
    else if (status == 0 && options->ranks)
        rkc_report_print_ranks(&report, page);
    else if (status == 0 && options->where)
        rkc_report_print_where(&report, page);
    else if (status == 0 && options->matrix)
        rkc_report_print_matrix(&report, page);
    else if (status == 0)
        rkc_report_print(&report, page);
    rkc_report_free(&report);

    if (status == RKC_ENOTFOUND)
        rkc_tool_error("report: %s has no region, call path or MPI function \"%s\"", options->file,
                       options->region);
    else if (status != 0)
        rkc_tool_error("report: %s: %s", options->file, rkc_strerror(status));
    return status == 0                                        ? RKC_EXIT_OK
           : status == RKC_ENOTFOUND || status == RKC_EFORMAT ? RKC_EXIT_USAGE
                                                              : RKC_EXIT_FAILED;
}

int rkc_tool_report(int argc, char **argv)
{
    struct options options = {.columns = RKC_REPORT_COLUMNS};
    int wrong = parse(argc, argv, &options);
    if (wrong)
        return wrong - 1;

    struct rkc_page page = {stdout, rkc_text_utf8(), options.columns,
                            options.all ? INT_MAX : RKC_REPORT_LINES};
    if (options.explain) {
        rkc_report_explain(&page);
        if (!options.file)
            return RKC_EXIT_OK;
        putchar('\n');
    }
    struct rkc_reader *reader;
    char text[1024];
    rkc_guard_reads(options.file);
    if (rkc_reader_open(options.file, &reader, text, sizeof text) != 0) {
        rkc_tool_error("%s", text);
        return RKC_EXIT_USAGE;
    }
    int status = print(reader, &options, &page);
    rkc_reader_close(reader);
    return status;
}
