/* golden.h - for tests of the reader: the files of released schemas, and copies of them that a test
 * changes. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankclock/reader.h>

#include "tap.h"

/* HDF5 keeps memory of files that it refuses; the leak sanitizer asks for this. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static char folder[] = "/tmp/rankclock_golden.XXXXXX";
static char golden[1024], with_gpu[1024], with_mpi[1024], copy[64];

static inline const char *in_tree(const char *name)
{
    static char path[1024];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/%s", top ? top : ".", name);
    return path;
}

/* A golden file, changed by a test in its copy. */
static char *golden_bytes;
static size_t golden_size;

static inline void put_copy(size_t size)
{
    FILE *file = fopen(copy, "wb");
    if (!file || fwrite(golden_bytes, 1, size, file) != size || fclose(file))
        exit(1);
}

static inline int load_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file)
        return 0;
    free(golden_bytes);
    fseek(file, 0, SEEK_END);
    golden_size = (size_t)ftell(file);
    rewind(file);
    golden_bytes = malloc(golden_size);
    int all = golden_bytes && fread(golden_bytes, 1, golden_size, file) == golden_size;
    fclose(file);
    return all;
}

static inline int load_golden(void)
{
    snprintf(golden, sizeof golden, "%s", in_tree("golden/schema-1.0.h5"));
    snprintf(with_gpu, sizeof with_gpu, "%s", in_tree("golden/schema-1.1.h5"));
    snprintf(with_mpi, sizeof with_mpi, "%s", in_tree("golden/schema-1.2.h5"));
    snprintf(copy, sizeof copy, "%s/copy.h5", folder);
    return load_file(golden);
}

/* Open a file; its status and line. */
static inline int try_open(const char *path, char text[512])
{
    struct rkc_reader *reader;
    text[0] = '\0';
    int status = rkc_reader_open(path, &reader, text, 512);
    if (status == 0)
        rkc_reader_close(reader);
    return status;
}

static inline void is_refused(const char *path, int want, const char *line, const char *what)
{
    char text[512];
    int status = try_open(path, text);
    tap_ok(status == want && strstr(text, line) && !strchr(text, '\n'), what, __FILE__, __LINE__,
           "status %d, \"%s\"", status, text);
}

/* Put a dataset in place of another. */
static inline void replace(hid_t file, const char *name, hid_t type, int n_dims,
                           const hsize_t *dims, hid_t create, const void *data)
{
    hid_t space = H5Screate_simple(n_dims, dims, NULL);
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset < 0)
        exit(1);
    if (data)
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(dataset);
    H5Sclose(space);
}

static inline void set_cell(hid_t file, const char *name, size_t row, int64_t value)
{
    int64_t values[256];
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    if (H5Sget_simple_extent_npoints(space) > 256 ||
        H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        exit(1);
    values[row] = value;
    H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Sclose(space);
    H5Dclose(dataset);
}

/* Run `change` on a copy of the golden file loaded last. */
static inline void change_copy(void (*change)(hid_t file))
{
    put_copy(golden_size);
    hid_t file = H5Fopen(copy, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        exit(1);
    change(file);
    H5Fclose(file);
}

/* 0 after a check that failed. */
static inline int begin_golden(void)
{
    if (!mkdtemp(folder))
        exit(1);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return ok(load_golden(), "the golden files are found below top_srcdir");
}

static inline void end_golden(void)
{
    free(golden_bytes);
    unlink(copy);
    rmdir(folder);
}

#endif
