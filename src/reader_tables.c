/* reader_tables.c - tables of a result file: every index is checked against what it points into. */
#include "autoconf.h"

#include "reader_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rankclock/status.h>

static int load_fact(struct rkc_reader *reader, const char *name, struct rkc_reader_fact *fact)
{
    char path[512];
    snprintf(path, sizeof path, "job/%s", name);
    struct rkc_array array;
    struct rkc_array_shape shape = {.kind = RKC_ARRAY_TEXT, .rows = RKC_ANY_SIZE};
    *fact = (struct rkc_reader_fact){.name = name, .value = RKC_READER_ABSENT};
    if (rkc_source_read(&reader->source, path, &shape, &array) == 0) {
        fact->text = array.texts;
        return 1;
    }
    shape.kind = RKC_ARRAY_INT;
    if (rkc_source_read(&reader->source, path, &shape, &array))
        return 0;
    enum { DIGITS = 24 };
    char *text = rkc_source_alloc(&reader->source, DIGITS, 1);
    if (!text)
        return 0;
    snprintf(text, DIGITS, "%" PRId64, array.ints[0]);
    fact->text = text;
    fact->value = array.ints[0];
    return 1;
}

int rkc_reader_load_job(struct rkc_reader *reader)
{
    char **names;
    size_t n;
    int status = rkc_source_names(&reader->source, "job", &names, &n);
    if (status)
        return status;
    reader->facts = rkc_source_alloc(&reader->source, n, sizeof *reader->facts);
    if (!reader->facts)
        return reader->source.status;
    /* What is neither a text nor a number comes from a newer version. */
    for (size_t i = 0; i < n; i++)
        reader->n_facts += (size_t)load_fact(reader, names[i], &reader->facts[reader->n_facts]);
    return 0;
}

int rkc_reader_load_regions(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_REGIONS_LIST(RKC_COLUMN_ROW)};
    struct rkc_array arrays[RKC_REGIONS_COLUMNS];
    int status = rkc_source_table(&reader->source, "regions", columns, RKC_REGIONS_COLUMNS,
                                  arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->regions = rkc_source_alloc(&reader->source, n, sizeof *reader->regions);
    if (!reader->regions)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t line = arrays[RKC_REGIONS_LINE].ints[i];
        if (!rkc_within(line, INT32_MIN, INT32_MAX))
            return rkc_reader_bad(reader, "regions", i, "no line has this number");
        reader->regions[i] = (struct rkc_reader_region){
            .name = rkc_text_at(&arrays[RKC_REGIONS_NAME], i),
            .kind = rkc_text_at(&arrays[RKC_REGIONS_KIND], i),
            .file = rkc_text_at(&arrays[RKC_REGIONS_FILE], i),
            .line = (int32_t)line,
        };
    }
    reader->n_regions = n;
    rkc_reader_release(reader, arrays, RKC_REGIONS_COLUMNS, columns);
    return 0;
}

int rkc_reader_load_paths(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_CALLPATHS_LIST(RKC_COLUMN_ROW)};
    struct rkc_array arrays[RKC_CALLPATHS_COLUMNS];
    int status = rkc_source_table(&reader->source, "callpaths", columns, RKC_CALLPATHS_COLUMNS,
                                  arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    if (n == 0)
        return rkc_source_fail(&reader->source, RKC_EFORMAT, "/callpaths is empty");
    reader->paths = rkc_source_alloc(&reader->source, n, sizeof *reader->paths);
    if (!reader->paths)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t parent = arrays[RKC_CALLPATHS_PARENT].ints[i];
        int64_t region = arrays[RKC_CALLPATHS_REGION].ints[i];
        int64_t depth = arrays[RKC_CALLPATHS_DEPTH].ints[i];
        if (i == 0 ? parent != -1 : !rkc_within(parent, 0, (int64_t)i - 1))
            return rkc_reader_bad(reader, "callpaths", i, "its parent does not come before it");
        if (!rkc_within(region, 0, (int64_t)reader->n_regions - 1))
            return rkc_reader_bad(reader, "callpaths", i, "it has no region");
        if (depth != (i == 0 ? 0 : (int64_t)reader->paths[parent].depth + 1))
            return rkc_reader_bad(reader, "callpaths", i, "its depth is not its parent's and 1");
        reader->paths[i] = (struct rkc_reader_path){(int32_t)parent, (int32_t)region,
                                                    (int32_t)depth};
    }
    reader->n_paths = n;
    rkc_reader_release(reader, arrays, RKC_CALLPATHS_COLUMNS, columns);
    return 0;
}

/* Columns that are numbers of 32 bits, and where they go. */
static const struct {
    int column;
    size_t offset;
} small_columns[] = {
    {RKC_RANKS_RANK, offsetof(struct rkc_reader_rank, rank)},
    {RKC_RANKS_PID, offsetof(struct rkc_reader_rank, pid)},
    {RKC_RANKS_LOCAL_RANK, offsetof(struct rkc_reader_rank, local_rank)},
    {RKC_RANKS_CPU, offsetof(struct rkc_reader_rank, cpu)},
    {RKC_RANKS_THREADS, offsetof(struct rkc_reader_rank, threads)},
    {RKC_RANKS_SIGNAL, offsetof(struct rkc_reader_rank, signal)},
    {RKC_RANKS_OPEN, offsetof(struct rkc_reader_rank, open_callpath)},
};

static int load_rank(struct rkc_reader *reader, const struct rkc_array *arrays, size_t i)
{
    const struct rkc_array *nodes = &reader->nodes;
    struct rkc_reader_rank *rank = &reader->ranks[i];
    for (size_t k = 0; k < sizeof small_columns / sizeof *small_columns; k++) {
        int64_t value = arrays[small_columns[k].column].ints[i];
        if (!rkc_within(value, INT32_MIN, INT32_MAX))
            return rkc_reader_bad(reader, "ranks", i, "a number is too large");
        *(int32_t *)((char *)rank + small_columns[k].offset) = (int32_t)value;
    }
    int64_t node = arrays[RKC_RANKS_NODE].ints[i];
    if (!rkc_within(node, 0, (int64_t)nodes->rows - 1))
        return rkc_reader_bad(reader, "ranks", i, "it has no node");
    if (rank->rank < 0 || (i > 0 && rank->rank <= reader->ranks[i - 1].rank))
        return rkc_reader_bad(reader, "ranks", i, "ranks do not rise");
    if (!rkc_within(rank->open_callpath, -1, (int64_t)reader->n_paths - 1))
        return rkc_reader_bad(reader, "ranks", i, "it has no such call path");
    rank->node = rkc_text_at(nodes, (size_t)node);
    rank->state = rkc_text_at(&arrays[RKC_RANKS_STATE], i);
    rank->wall_ns = arrays[RKC_RANKS_WALL].ints[i];
    rank->init_ns = arrays[RKC_RANKS_INIT].ints[i];
    rank->mpi_ns = arrays[RKC_RANKS_MPI].ints[i];
    rank->useful_ns = arrays[RKC_RANKS_USEFUL].ints[i];
    rank->overhead_ns = arrays[RKC_RANKS_OVERHEAD].ints[i];
    rank->measured_until_unix_ns = arrays[RKC_RANKS_UNTIL].ints[i];
    rank->device = -1;
    rank->device_ns = RKC_READER_ABSENT;
    return 0;
}

int rkc_reader_load_ranks(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_RANKS_LIST(RKC_COLUMN_ROW)};
    static const struct rkc_column node_columns[] = {RKC_NODES_LIST(RKC_COLUMN_ROW)};
    struct rkc_array arrays[RKC_RANKS_HOST_COLUMNS];
    int status = rkc_source_table(&reader->source, "nodes", node_columns, RKC_NODES_COLUMNS,
                                  &reader->nodes);
    if (!status)
        status = rkc_source_table(&reader->source, "ranks", columns, RKC_RANKS_HOST_COLUMNS,
                                  arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->ranks = rkc_source_alloc(&reader->source, n, sizeof *reader->ranks);
    if (!reader->ranks)
        return reader->source.status;
    for (size_t i = 0; i < n && !status; i++)
        status = load_rank(reader, arrays, i);
    if (status)
        return status;
    reader->n_ranks = n;
    rkc_reader_release(reader, arrays, RKC_RANKS_HOST_COLUMNS, columns);
    return 0;
}

/* A NUMA node: -1 where the system did not tell, or the file does not; -2 where it cannot be. */
static int32_t numa_node_at(const struct rkc_array *array, size_t i)
{
    if (!array->ints)
        return -1;
    return rkc_within(array->ints[i], -1, INT32_MAX) ? (int32_t)array->ints[i] : -2;
}

static int load_device_table(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_DEVICES_LIST(RKC_COLUMN_ROW)};
    struct rkc_array arrays[RKC_DEVICES_COLUMNS] = {{.rows = 0}};
    size_t n_columns = rkc_source_has(&reader->source, "devices/numa_node") ? RKC_DEVICES_COLUMNS
                                                                            : RKC_DEVICES_NUMA;
    int status = rkc_source_table(&reader->source, "devices", columns, n_columns, arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->devices = rkc_source_alloc(&reader->source, n, sizeof *reader->devices);
    if (!reader->devices)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t node = arrays[RKC_DEVICES_NODE].ints[i];
        int64_t index = arrays[RKC_DEVICES_INDEX].ints[i];
        int64_t driver = arrays[RKC_DEVICES_DRIVER].ints[i];
        int32_t numa_node = numa_node_at(&arrays[RKC_DEVICES_NUMA], i);
        if (!rkc_within(node, 0, (int64_t)reader->nodes.rows - 1))
            return rkc_reader_bad(reader, "devices", i, "it has no node");
        if (!rkc_within(index, -1, INT32_MAX) || !rkc_within(driver, -1, INT32_MAX) ||
            numa_node < -1)
            return rkc_reader_bad(reader, "devices", i, "a number is too large");
        reader->devices[i] = (struct rkc_reader_device){
            .node = rkc_text_at(&reader->nodes, (size_t)node),
            .name = rkc_text_at(&arrays[RKC_DEVICES_NAME], i),
            .uuid = rkc_text_at(&arrays[RKC_DEVICES_UUID], i),
            .pci_bus_id = rkc_text_at(&arrays[RKC_DEVICES_BUS_ID], i),
            .index = (int32_t)index,
            .driver_version = (int32_t)driver,
            .numa_node = numa_node,
        };
    }
    reader->n_devices = n;
    rkc_reader_release(reader, arrays, n_columns, columns);
    return 0;
}

static int load_device_use(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_DEVICE_USE_LIST(RKC_COLUMN_ROW)};
    struct rkc_array arrays[RKC_DEVICE_USE_COLUMNS] = {{.rows = 0}};
    size_t n_columns = rkc_source_has(&reader->source, "device_use/rank_numa_node")
                           ? RKC_DEVICE_USE_COLUMNS
                           : RKC_DEVICE_USE_NUMA;
    int status = rkc_source_table(&reader->source, "device_use", columns, n_columns, arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows, at = 0;
    reader->device_use = rkc_source_alloc(&reader->source, n, sizeof *reader->device_use);
    if (!reader->device_use)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t rank = arrays[RKC_DEVICE_USE_RANK].ints[i];
        int64_t device = arrays[RKC_DEVICE_USE_DEVICE].ints[i];
        int64_t index = arrays[RKC_DEVICE_USE_INDEX].ints[i];
        int64_t covered_ns = arrays[RKC_DEVICE_USE_COVERED].ints[i];
        int64_t device_ns = arrays[RKC_DEVICE_USE_NS].ints[i];
        int32_t numa_node = numa_node_at(&arrays[RKC_DEVICE_USE_NUMA], i);
        while (at < reader->n_ranks && reader->ranks[at].rank < rank)
            at++;
        if (at == reader->n_ranks || reader->ranks[at].rank != rank)
            return rkc_reader_bad(reader, "device_use", i, "no such rank, or out of order");
        if (!rkc_within(device, 0, (int64_t)reader->n_devices - 1))
            return rkc_reader_bad(reader, "device_use", i, "it has no device");
        if (!rkc_within(index, -1, INT32_MAX) || covered_ns < 0 || device_ns < 0 || numa_node < -1)
            return rkc_reader_bad(reader, "device_use", i, "a number is out of range");
        reader->device_use[i] = (struct rkc_reader_device_use){
            (int32_t)rank, (int32_t)device, (int32_t)index, covered_ns, device_ns, numa_node};
    }
    reader->n_device_use = n;
    rkc_reader_release(reader, arrays, n_columns, columns);
    return 0;
}

/* The columns of /ranks that are there in files with devices. */
static int load_rank_devices(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_RANKS_DEVICE_LIST(RKC_COLUMN_ROW)};
    enum { DEVICE, DEVICE_NS, COLUMNS };
    struct rkc_array arrays[COLUMNS];
    int status = rkc_source_table(&reader->source, "ranks", columns, COLUMNS, arrays);
    if (!status && arrays[DEVICE].rows != reader->n_ranks)
        status = rkc_source_fail(&reader->source, RKC_EFORMAT,
                                 "/ranks/device is not of the type and size it should be");
    for (size_t i = 0; i < reader->n_ranks && !status; i++) {
        int64_t device = arrays[DEVICE].ints[i];
        if (!rkc_within(device, -1, (int64_t)reader->n_devices - 1))
            status = rkc_reader_bad(reader, "ranks", i, "it has no such device");
        reader->ranks[i].device = (int32_t)device;
        reader->ranks[i].device_ns = arrays[DEVICE_NS].ints[i];
    }
    if (!status)
        rkc_reader_release(reader, arrays, COLUMNS, columns);
    return status;
}

int rkc_reader_load_devices(struct rkc_reader *reader)
{
    if (!rkc_source_has_group(&reader->source, "devices"))
        return 0;
    int status = load_device_table(reader);
    if (!status)
        status = load_device_use(reader);
    return status ? status : load_rank_devices(reader);
}

int rkc_reader_load_missing(struct rkc_reader *reader)
{
    if (!rkc_source_has(&reader->source, "missing_ranks"))
        return 0;
    struct rkc_array array;
    struct rkc_array_shape shape = {RKC_ARRAY_INT, 2, RKC_ANY_SIZE, 2};
    int status = rkc_source_read(&reader->source, "missing_ranks", &shape, &array);
    if (status)
        return status;
    reader->missing = rkc_source_alloc(&reader->source, array.rows, sizeof *reader->missing);
    if (!reader->missing)
        return reader->source.status;
    for (size_t i = 0; i < array.rows; i++) {
        int64_t first = array.ints[2 * i], last = array.ints[2 * i + 1];
        if (!rkc_within(first, 0, INT32_MAX) || !rkc_within(last, first, INT32_MAX) ||
            (i > 0 && first <= reader->missing[i - 1].last))
            return rkc_reader_bad(reader, "missing_ranks", i, "no range, or out of order");
        reader->missing[i] = (struct rkc_reader_range){(int32_t)first, (int32_t)last};
    }
    reader->n_missing = array.rows;
    rkc_source_release(&reader->source, array.data);
    return 0;
}

int rkc_reader_load_notes(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_NOTES_LIST(RKC_COLUMN_ROW)};
    if (!rkc_source_has(&reader->source, "notes"))
        return 0;
    struct rkc_array arrays[RKC_NOTES_COLUMNS];
    int status = rkc_source_table(&reader->source, "notes", columns, RKC_NOTES_COLUMNS, arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->notes = rkc_source_alloc(&reader->source, n, sizeof *reader->notes);
    if (!reader->notes)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t region = arrays[RKC_NOTES_REGION].ints[i], rank = arrays[RKC_NOTES_RANK].ints[i];
        if (!rkc_within(region, -1, (int64_t)reader->n_regions - 1) ||
            !rkc_within(rank, -1, INT32_MAX))
            return rkc_reader_bad(reader, "notes", i, "it has no such region or rank");
        reader->notes[i] = (struct rkc_reader_note){
            .kind = rkc_text_at(&arrays[RKC_NOTES_KIND], i),
            .text = rkc_text_at(&arrays[RKC_NOTES_TEXT], i),
            .region = (int32_t)region,
            .rank = (int32_t)rank,
            .count = arrays[RKC_NOTES_COUNT].ints[i],
        };
    }
    reader->n_notes = n;
    rkc_reader_release(reader, arrays, RKC_NOTES_COLUMNS, columns);
    return 0;
}
