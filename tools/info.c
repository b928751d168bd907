/* info.c - `rankclock info`: what a file holds, in full or without what could tell whose it is. */
#include "autoconf.h"

#include "text.h"
#include "tools.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rankclock/reader.h>

/* Facts that tell nothing of a user, a machine or a program; what a newer file has beside them
 * is hidden, too. */
static const char *const public_facts[] = {
    "clock_source",  "gpu",          "gpu_aware",   "gpu_aware_by",
    "gpu_driver",    "job_id",       "job_raw",     "job_step",
    "mpi_standard",  "other_tools",  "overhead_ns", "overhead_method",
    "per_rank_rows", "perturbing",   "ranks",       "restart",
    "start_unix_ns", "thread_level", "wall_ns",     "write_ns",
};

static int help(void)
{
    puts("usage: rankclock info [OPTION]... FILE\n"
         "\n"
         "Say what a result file holds: its schema, the job, and the tables in it.\n"
         "\n"
         "      --redact  hide the command line, host names, paths and what identifies a device\n"
         "  -h, --help    this text");
    return RKC_EXIT_OK;
}

static void print_fact(const char *name, const char *value, int utf8)
{
    char clean[4096];
    rkc_text_clean(value ? value : "-", utf8, clean, sizeof clean);
    printf("  %-18s%s\n", name, clean);
}

static int is_public(const char *name)
{
    for (size_t i = 0; i < sizeof public_facts / sizeof *public_facts; i++)
        if (strcmp(public_facts[i], name) == 0)
            return 1;
    return 0;
}

static void print_job(const struct rkc_reader *reader, int redact, int utf8)
{
    puts("\njob");
    for (size_t i = 0; i < rkc_reader_n_job(reader); i++) {
        const char *name = rkc_reader_job_name(reader, i);
        const char *value = rkc_reader_job(reader, name);
        char part[256];
        if (redact && (strcmp(name, "mpi_library") == 0 || strcmp(name, "launcher") == 0)) {
            /* Up to its version; then follows who built it, and where. A launcher by its name. */
            const char *slash = value ? strrchr(value, '/') : NULL;
            const char *start = slash && strcmp(name, "launcher") == 0 ? slash + 1 : value;
            snprintf(part, sizeof part, "%.*s", start ? (int)strcspn(start, ",\n") : 0,
                     start ? start : "");
            value = part;
        } else if (redact && !is_public(name)) {
            value = "(hidden)";
        }
        print_fact(name, value, utf8);
    }
}

static void print_regions(const struct rkc_reader *reader)
{
    size_t n, users = 0, mpi = 0;
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    for (size_t i = 0; i < n; i++) {
        users += strcmp(regions[i].kind, "user") == 0;
        mpi += strcmp(regions[i].kind, "mpi") == 0;
    }
    printf("  %-18s%zu: %zu of users, %zu MPI functions, %zu others\n", "regions", n, users, mpi,
           n - users - mpi);
}

static void print_metrics(struct rkc_reader *reader)
{
    const char *name;
    printf("  %-18s", "metrics");
    int column = 20;
    for (size_t i = 0; (name = rkc_reader_metric(reader, i)); i++) {
        int is_first = column == 20;
        int breaks = !is_first && column + 1 + (int)strlen(name) > 100;
        if (breaks)
            printf("\n%20s", "");
        column = breaks ? 20 : column;
        column += printf("%s%s", is_first || breaks ? "" : " ", name);
    }
    putchar('\n');
}

static void print_ranges(const struct rkc_reader *reader)
{
    size_t n;
    const struct rkc_reader_range *missing = rkc_reader_missing(reader, &n);
    printf("  %-18s", "missing ranks");
    for (size_t i = 0; i < n && i < 20; i++) {
        printf(missing[i].first == missing[i].last ? "%s%d" : "%s%d-%d", i ? ", " : "",
               missing[i].first, missing[i].last);
    }
    puts(n == 0 ? "none" : n > 20 ? " ..." : "");
}

static void print_nodes(const struct rkc_reader *reader, int redact, int utf8)
{
    size_t n, names = 0;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    const char *last = "";
    printf("  %-18s%zu", "ranks", n);
    if (redact) {
        puts("");
        return;
    }
    for (size_t i = 0; i < n && names <= 4; i++) {
        char node[RKC_NAME_CELL];
        if (strcmp(ranks[i].node, last) == 0)
            continue;
        last = ranks[i].node;
        rkc_text_fit(last, 24, utf8, node, sizeof node);
        printf("%s%s", names == 0 ? " on " : ", ", names == 4 ? "..." : node);
        names++;
    }
    putchar('\n');
}

enum { DEVICES_SHOWN = 16 };

/* "NVIDIA H200 on node7, 0000:3b:00.0, GPU-...: r0, r1", one line each; or the names alone. */
static void print_devices(const struct rkc_reader *reader, int redact, int utf8)
{
    size_t n, n_uses;
    const struct rkc_reader_device *devices = rkc_reader_devices(reader, &n);
    const struct rkc_reader_device_use *use = rkc_reader_device_use(reader, &n_uses);
    printf("  %-18s%zu, used by ranks %zu times\n", "devices", n, n_uses);
    for (size_t i = 0; i < n && i < DEVICES_SHOWN; i++) {
        char name[RKC_NAME_CELL], node[RKC_NAME_CELL], uuid[RKC_NAME_CELL], bus[RKC_NAME_CELL];
        rkc_text_fit(devices[i].name[0] ? devices[i].name : "unknown", 20, utf8, name, sizeof name);
        printf("    %s", name);
        if (!redact) {
            rkc_text_fit(devices[i].node, 16, utf8, node, sizeof node);
            rkc_text_fit(devices[i].pci_bus_id, 16, utf8, bus, sizeof bus);
            rkc_text_fit(devices[i].uuid, 44, utf8, uuid, sizeof uuid);
            printf(" on %s%s%s%s%s", node, bus[0] ? ", " : "", bus, uuid[0] ? ", " : "", uuid);
        }
        size_t ranks = 0;
        int32_t first = -1;
        for (size_t k = 0; k < n_uses; k++)
            if (use[k].device == (int32_t)i) {
                first = ranks == 0 ? use[k].rank : first;
                ranks++;
            }
        printf(ranks > 1 ? ": r%d and %zu more\n" : ": r%d\n", first, ranks - 1);
    }
    if (n > DEVICES_SHOWN)
        printf("    %zu more\n", n - DEVICES_SHOWN);
}

static void print_tables(struct rkc_reader *reader, int redact, int utf8)
{
    size_t n, buckets;
    const int64_t *edges;
    puts("\nholds");
    print_nodes(reader, redact, utf8);
    print_ranges(reader);
    rkc_reader_devices(reader, &n);
    if (n > 0)
        print_devices(reader, redact, utf8);
    print_regions(reader);
    rkc_reader_paths(reader, &n);
    printf("  %-18s%zu\n", "call paths", n);
    print_metrics(reader);

    const char *rows = rkc_reader_job(reader, "per_rank_rows");
    print_fact("per-rank values", rows ? rows : "-", utf8);
    rkc_reader_histogram(reader, &buckets, &edges);
    printf("  %-18s%zu buckets for each call path\n", "visit durations", buckets);
    rkc_reader_transfers(reader, &n);
    printf("  %-18s%zu rows\n", "MPI transfers", n);
    rkc_reader_waits(reader, &n);
    printf("  %-18s%zu rows\n", "MPI waits", n);
    printf("  %-18s%zu pairs of ranks\n", "MPI matrix", rkc_reader_n_matrix(reader));
    rkc_reader_notes(reader, &n);
    printf("  %-18s%zu\n", "notes", n);
}

static void print(struct rkc_reader *reader, const char *file, int redact)
{
    static const char *const attributes[][2] = {{"rankclock_schema", "schema"},
                                                {"writer", "written by"},
                                                {"status", "status"},
                                                {"created", "created"}};
    int utf8 = rkc_text_utf8();
    const char *slash = strrchr(file, '/');
    char name[4096];
    rkc_text_clean(redact && slash ? slash + 1 : file, utf8, name, sizeof name);
    puts(name);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        print_fact(attributes[i][1], rkc_reader_attribute(reader, attributes[i][0]), utf8);
    print_job(reader, redact, utf8);
    print_tables(reader, redact, utf8);
}

int rkc_tool_info(int argc, char **argv)
{
    const char *file = NULL;
    int redact = 0, only_files = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_files || word[0] != '-' || !word[1]) {
            if (file)
                return rkc_tool_usage("info", "one file too many:", word);
            file = word;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            return help();
        } else if (strcmp(word, "--redact") == 0) {
            redact = 1;
        } else if (strcmp(word, "--") == 0) {
            only_files = 1;
        } else {
            return rkc_tool_usage("info", "no option", word);
        }
    }
    if (!file)
        return rkc_tool_usage("info", "no file", "to read");

    struct rkc_reader *reader;
    char text[1024];
    rkc_guard_reads(file);
    if (rkc_reader_open(file, &reader, text, sizeof text) != 0) {
        rkc_tool_error("%s", text);
        return RKC_EXIT_USAGE;
    }
    print(reader, file, redact);
    rkc_reader_close(reader);
    return RKC_EXIT_OK;
}
