/* reader.c - a reader takes files of its schema and of later minor ones, and refuses all others. */
/* LIMIT 240 */
#include "autoconf.h"

#include <rankclock/reader.h>

#include <dirent.h>

#include "golden.h"
#include "synthetic.h"

/* Made by make_file from a run of 4 ranks and 12 call paths; see synthetic.h. */
static void test_golden(void)
{
    struct rkc_reader *reader;
    char text[512];
    int status = rkc_reader_open(golden, &reader, text, sizeof text);
    if (!tap_ok(status == 0, "the file of schema 1.0 is read", __FILE__, __LINE__, "%s", text))
        return;
    struct synthetic run = synthetic_run(4, SYNTHETIC_PATHS);
    size_t n_ranks, n_paths, wrong = 0;
    rkc_reader_ranks(reader, &n_ranks);
    rkc_reader_paths(reader, &n_paths);
    is_int((int64_t)n_ranks, 4, "with its ranks");
    is_int((int64_t)n_paths, SYNTHETIC_PATHS, "and call paths");
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, "exclusive_ns");
    for (uint32_t path = 0; stats && path < n_paths; path++) {
        int64_t values[4] = {0}, sum = 0;
        wrong += rkc_reader_per_rank(reader, "exclusive_ns", path, values) != 0;
        for (uint32_t rank = 0; rank < 4; rank++) {
            int64_t want = synthetic_exclusive_ns(&run, path, rank);
            wrong += values[rank] != want;
            sum += want > 0 ? want : 0;
        }
        wrong += stats[path].sum != sum;
    }
    ok(stats != NULL && wrong == 0, "every rank's times and their sums are right");
    is_str(rkc_reader_attribute(reader, "created"), "2023-11-14T22:13:20Z",
           "the time it was made is told");
    is_str(rkc_reader_attribute(reader, "description"), NULL, "other attributes are not");
    rkc_reader_close(reader);
}

/* The same run, with device time: make_file --gpu. */
static void test_golden_gpu(void)
{
    struct rkc_reader *reader;
    char text[512];
    int status = rkc_reader_open(with_gpu, &reader, text, sizeof text);
    if (!tap_ok(status == 0, "the file of schema 1.1 is read", __FILE__, __LINE__, "%s", text))
        return;
    struct synthetic run = synthetic_run(4, SYNTHETIC_PATHS);
    size_t n, wrong = 0;
    const struct rkc_reader_device *devices = rkc_reader_devices(reader, &n);
    is_int((int64_t)n, 2, "with its devices");
    is_str(devices[1].node, "node001", "on their nodes");
    const struct rkc_reader_device_use *use = rkc_reader_device_use(reader, &n);
    ok(devices[1].numa_node == -1 && use[3].rank_numa_node == -1,
       "of which schema 1.1 does not tell the NUMA nodes");
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, "device_ns");
    int64_t values[4] = {0};
    wrong += rkc_reader_per_rank(reader, "device_ns", SYNTHETIC_COMPUTE, values) != 0;
    for (uint32_t rank = 0; rank < 4; rank++)
        wrong += values[rank] != synthetic_device_ns(&run, rank);
    ok(stats && wrong == 0 && stats[SYNTHETIC_COMPUTE].max_rank == 3,
       "and every rank's device time");
    ok(stats && stats[SYNTHETIC_HALO].ranks == 0, "which host regions do not have");
    rkc_reader_close(reader);

    if (rkc_reader_open(golden, &reader, text, sizeof text))
        exit(1);
    rkc_reader_devices(reader, &n);
    is_int((int64_t)n, 0, "a file of schema 1.0 has none");
    rkc_reader_device_use(reader, &n);
    is_int((int64_t)n, 0, "nor any use of one");
    rkc_reader_close(reader);
}

static void test_foreign(void)
{
    is_refused("/nonexistent/run.h5", RKC_EIO, "/nonexistent/run.h5: No such file",
               "a file that is not there is an input error");
    is_refused("/tmp", RKC_EIO, "not a regular file", "a folder is none");
    put_copy(0);
    is_refused(copy, RKC_EFORMAT, "empty", "an empty file is told as such");
    FILE *file = fopen(copy, "w");
    if (!file || fputs("Hello, this is a text\n", file) < 0 || fclose(file))
        exit(1);
    is_refused(copy, RKC_EFORMAT, "not an HDF5 file", "a text is no HDF5 file");
    hid_t id = H5Fcreate(copy, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(id);
    is_refused(copy, RKC_EFORMAT, "not a rankclock file", "another program's file is refused");
    char short_text[8] = "xxxxxxx";
    struct rkc_reader *reader;
    is_int(rkc_reader_open(copy, &reader, short_text, sizeof short_text), RKC_EFORMAT,
           "a short buffer for the line is no harm");
    is_int((int64_t)strlen(short_text), 7, "the line is cut");
    is_int(rkc_reader_open(copy, &reader, NULL, 0), RKC_EFORMAT, "nor is none");
}

/* Datasets that a change puts in place of the golden file's. */
static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    return type;
}

static void set_schema(hid_t file, const char *schema)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(schema));
    H5Adelete(file, "rankclock_schema");
    hid_t attribute = H5Acreate2(file, "rankclock_schema", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, schema);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void newer_major(hid_t file) { set_schema(file, "2.0"); }
static void older_major(hid_t file) { set_schema(file, "0.9"); }
static void no_schema(hid_t file) { set_schema(file, "one"); }
static void no_ranks(hid_t file) { H5Ldelete(file, "ranks", H5P_DEFAULT); }
static void no_sum(hid_t file) { H5Ldelete(file, "regions/name", H5P_DEFAULT); }
static void parent_late(hid_t file) { set_cell(file, "callpaths/parent", 3, 3); }
static void two_roots(hid_t file) { set_cell(file, "callpaths/parent", 2, -1); }
static void region_high(hid_t file) { set_cell(file, "callpaths/region", 1, 12); }
static void depth_wrong(hid_t file) { set_cell(file, "callpaths/depth", 1, 7); }
static void node_high(hid_t file) { set_cell(file, "ranks/node", 0, 2); }
static void rank_twice(hid_t file) { set_cell(file, "ranks/rank", 1, 0); }
static void rank_large(hid_t file) { set_cell(file, "ranks/rank", 3, INT64_C(1) << 32); }
static void path_high(hid_t file) { set_cell(file, "ranks/open_callpath", 0, 12); }
static void call_high(hid_t file) { set_cell(file, "mpi/transfers/call", 0, 99); }
static void note_high(hid_t file) { set_cell(file, "notes/region", 0, 99); }
static void ranks_negative(hid_t file) { set_cell(file, "profile/visits/ranks", 0, -5); }

static void no_use(hid_t file) { H5Ldelete(file, "device_use", H5P_DEFAULT); }
static void no_rank_device(hid_t file) { H5Ldelete(file, "ranks/device", H5P_DEFAULT); }
static void device_nowhere(hid_t file) { set_cell(file, "devices/node", 1, 2); }
static void driver_large(hid_t file) { set_cell(file, "devices/driver_version", 0, INT64_MAX); }
static void use_of_none(hid_t file) { set_cell(file, "device_use/device", 3, 2); }
static void use_by_none(hid_t file) { set_cell(file, "device_use/rank", 3, 4); }
static void use_falls(hid_t file) { set_cell(file, "device_use/rank", 2, 0); }
static void use_negative(hid_t file) { set_cell(file, "device_use/covered_ns", 0, -7); }
static void rank_device_high(hid_t file) { set_cell(file, "ranks/device", 2, 2); }

static void rank_device_short(hid_t file)
{
    hsize_t n = 3;
    replace(file, "ranks/device", H5T_STD_I64LE, 1, &n, H5P_DEFAULT, NULL);
    replace(file, "ranks/device_ns", H5T_STD_I64LE, 1, &n, H5P_DEFAULT, NULL);
}

static void wrong_type(hid_t file)
{
    hsize_t n = 12;
    replace(file, "callpaths/parent", H5T_STD_I32LE, 1, &n, H5P_DEFAULT, NULL);
}

static void wrong_length(hid_t file)
{
    hsize_t n = 11;
    replace(file, "callpaths/depth", H5T_STD_I64LE, 1, &n, H5P_DEFAULT, NULL);
}

static void wrong_shape(hid_t file)
{
    hsize_t n[2] = {12, 4};
    replace(file, "per_rank/visits", H5T_STD_I64LE, 2, n, H5P_DEFAULT, NULL);
}

static void variable_text(hid_t file)
{
    hsize_t n = 12;
    hid_t type = text_type();
    replace(file, "regions/name", type, 1, &n, H5P_DEFAULT, NULL);
    H5Tclose(type);
}

/* A small file that claims terabytes, all of them fill values. */
static void unwritten(hid_t file)
{
    hsize_t n = 90000000, chunk = 1000000;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, 1, &chunk);
    replace(file, "regions/name", H5T_STD_I64LE, 1, &n, create, NULL);
    replace(file, "callpaths/parent", H5T_STD_I64LE, 1, &n, create, NULL);
    H5Pclose(create);
}

static void other_file(hid_t file)
{
    H5Ldelete(file, "ranks", H5P_DEFAULT);
    H5Lcreate_external(golden, "/ranks", file, "ranks", H5P_DEFAULT, H5P_DEFAULT);
}

static void soft_link(hid_t file)
{
    H5Lmove(file, "ranks", file, "others", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/others", file, "ranks", H5P_DEFAULT, H5P_DEFAULT);
}

/* Data that would be read from a file of the attacker's choice. */
static void other_storage(hid_t file)
{
    hsize_t n = 12;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(create, "/etc/passwd", 0, 96);
    replace(file, "callpaths/parent", H5T_STD_I64LE, 1, &n, create, NULL);
    H5Pclose(create);
}

static void virtual_data(hid_t file)
{
    hsize_t n = 12;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, NULL);
    H5Pset_virtual(create, space, golden, "/callpaths/parent", space);
    replace(file, "callpaths/parent", H5T_STD_I64LE, 1, &n, create, NULL);
    H5Sclose(space);
    H5Pclose(create);
}

static void test_hostile(void)
{
    static const struct {
        void (*change)(hid_t);
        int status;
        const char *line, *what;
    } cases[] = {
        {newer_major, RKC_EVERSION, "schema 2.0 is newer", "a newer major schema is refused"},
        {older_major, RKC_EFORMAT, "0.9", "a schema that never was is refused"},
        {no_schema, RKC_EFORMAT, "no number", "a schema that is no number is refused"},
        {no_ranks, RKC_EFORMAT, "/ranks/rank is missing", "a missing table is named"},
        {no_sum, RKC_EFORMAT, "/regions/name is missing", "a missing column is named"},
        {parent_late, RKC_EFORMAT, "/callpaths, row 3", "a call path that is its own parent"},
        {two_roots, RKC_EFORMAT, "/callpaths, row 2", "a second root"},
        {region_high, RKC_EFORMAT, "/callpaths, row 1", "a call path without region"},
        {depth_wrong, RKC_EFORMAT, "/callpaths, row 1", "a depth that is not its parent's and 1"},
        {node_high, RKC_EFORMAT, "/ranks, row 0", "a rank without node"},
        {rank_twice, RKC_EFORMAT, "/ranks, row 1", "a rank twice"},
        {rank_large, RKC_EFORMAT, "/ranks, row 3", "a rank beyond 32 bits"},
        {path_high, RKC_EFORMAT, "/ranks, row 0", "an open call path that is none"},
        {call_high, RKC_EFORMAT, "/mpi/transfers, row 0", "a transfer of no call"},
        {note_high, RKC_EFORMAT, "/notes, row 0", "a note about no region"},
        {ranks_negative, RKC_EFORMAT, "/profile/visits, row 0", "fewer than no ranks"},
        {wrong_type, RKC_EFORMAT, "/callpaths/parent", "numbers of another size"},
        {wrong_length, RKC_EFORMAT, "/callpaths/depth", "columns of two lengths"},
        {wrong_shape, RKC_EFORMAT, "/per_rank/visits", "rows of another shape"},
        {variable_text, RKC_EFORMAT, "/regions/name", "texts of no fixed length"},
        {unwritten, RKC_EFORMAT, "/regions/name", "more than the file can hold"},
        {other_file, RKC_EFORMAT, "/ranks/rank is missing", "a link into another file"},
        {soft_link, RKC_EFORMAT, "/ranks/rank is missing", "a soft link"},
        {other_storage, RKC_EFORMAT, "/callpaths/parent", "data kept in another file"},
        {virtual_data, RKC_EFORMAT, "/callpaths/parent", "data borrowed from another file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change_copy(cases[i].change);
        is_refused(copy, cases[i].status, cases[i].line, cases[i].what);
    }
}

static void test_hostile_devices(void)
{
    static const struct {
        void (*change)(hid_t);
        const char *line, *what;
    } cases[] = {
        {no_use, "/device_use/rank is missing", "devices that nobody uses"},
        {no_rank_device, "/ranks/device is missing", "ranks that do not tell their device"},
        {device_nowhere, "/devices, row 1", "a device without node"},
        {driver_large, "/devices, row 0", "a driver beyond 32 bits"},
        {use_of_none, "/device_use, row 3", "the use of a device that is none"},
        {use_by_none, "/device_use, row 3", "the use by a rank that is none"},
        {use_falls, "/device_use, row 2", "ranks that do not rise"},
        {use_negative, "/device_use, row 0", "less than no time"},
        {rank_device_high, "/ranks, row 2", "a rank's device that is none"},
        {rank_device_short, "/ranks/device", "fewer devices than ranks"},
    };
    load_file(with_gpu);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change_copy(cases[i].change);
        is_refused(copy, RKC_EFORMAT, cases[i].line, cases[i].what);
    }
    load_file(golden);
}

static void newer_minor(hid_t file)
{
    hsize_t n = 3;
    set_schema(file, "1.7");
    H5Gclose(H5Gcreate2(file, "future", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(file, "profile/watts", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    replace(file, "ranks/watts", H5T_STD_I16LE, 1, &n, H5P_DEFAULT, NULL);
    replace(file, "job/vector", H5T_IEEE_F32LE, 1, &n, H5P_DEFAULT, NULL);
    H5Gclose(H5Gcreate2(file, "job/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void no_rows(hid_t file) { H5Ldelete(file, "per_rank", H5P_DEFAULT); }

static void test_newer(void)
{
    char text[512];
    struct rkc_reader *reader;
    int64_t values[4];
    change_copy(newer_minor);
    int status = rkc_reader_open(copy, &reader, text, sizeof text);
    if (tap_ok(status == 0, "a newer minor schema is read", __FILE__, __LINE__, "%s", text)) {
        ok(rkc_reader_profile(reader, "watts") == NULL, "what it adds is left out");
        is_str(rkc_reader_job(reader, "vector"), NULL, "of the job, too");
        is_str(rkc_reader_job(reader, "launcher"), "mpirun", "and the rest is there");
        rkc_reader_close(reader);
    }
    change_copy(no_rows);
    is_int(rkc_reader_open(copy, &reader, text, sizeof text), 0, "rows of ranks may be missing");
    is_int(rkc_reader_per_rank(reader, "visits", 0, values), RKC_ENOTFOUND, "and are not found");
    rkc_reader_close(reader);
}

static void test_cut_short(void)
{
    char text[512];
    size_t refused = 0, tried = 0;
    for (size_t size = 1; size < golden_size; size += size < 2048 ? 61 : 1999, tried++) {
        put_copy(size);
        refused += try_open(copy, text) == RKC_EFORMAT && text[0];
    }
    is_int((int64_t)refused, (int64_t)tried, "a file cut short anywhere is refused");
}

/* A damaged file is refused or read; the process lives, which the checks after this prove. */
static void test_flipped(void)
{
    char text[512];
    uint64_t random = 1;
    size_t silent = 0;
    for (int i = 0; i < 400; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(random >> 20) % golden_size;
        golden_bytes[at] ^= (char)(1 << (random >> 60) % 8);
        put_copy(golden_size);
        silent += try_open(copy, text) && text[0] == '\0';
        golden_bytes[at] ^= (char)(1 << (random >> 60) % 8);
    }
    is_int((int64_t)silent, 0, "a damaged file is read or refused with a line");
}

/* Files that a fuzzer made and that once crashed the reader. Those that crash HDF5 itself, named
 * crash-*, are left to the command, which reads them in a process of its own. */
static void test_finds(void)
{
    char command[4096], text[512], finds[1024];
    size_t silent = 0, n = 0;
    snprintf(finds, sizeof finds, "%s", in_tree("hostile"));
    DIR *files = opendir(finds);
    for (struct dirent *entry; files && (entry = readdir(files)) != NULL;) {
        if (strncmp(entry->d_name, "refused-", 8) != 0)
            continue;
        snprintf(command, sizeof command, "gzip -dc '%s/%s' > '%s'", finds, entry->d_name, copy);
        if (system(command))
            break;
        silent += try_open(copy, text) != RKC_EFORMAT || text[0] == '\0';
        n++;
    }
    if (files)
        closedir(files);
    ok(n > 0, "there are files once found");
    is_int((int64_t)silent, 0, "and each is refused with a line");
}

static herr_t count_call(hid_t stack, void *data)
{
    (void)stack;
    ++*(int *)data;
    return 0;
}

static void test_quiet(void)
{
    int calls = 0;
    char text[512];
    H5E_auto2_t handler;
    void *data;
    H5Eset_auto2(H5E_DEFAULT, count_call, &calls);
    put_copy(golden_size / 2);
    try_open(copy, text);
    is_int(calls, 0, "HDF5's errors are not shown");
    H5Eget_auto2(H5E_DEFAULT, &handler, &data);
    ok(handler == count_call && data == &calls, "the program's handler is in place afterwards");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

int main(void)
{
    if (!begin_golden())
        return done_testing();
    test_golden();
    test_golden_gpu();
    test_foreign();
    test_hostile();
    test_hostile_devices();
    test_newer();
    test_cut_short();
    test_flipped();
    test_finds();
    test_quiet();
    end_golden();
    return done_testing();
}
