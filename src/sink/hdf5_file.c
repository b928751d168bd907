/* hdf5_file.c - HDF5 objects as the schema wants them: described, small, without timestamps.
 *
 * The format is that of HDF5 1.8, which every later library reads. */
#include "autoconf.h"

#include "sink/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "utf8.h"

enum {
    COMPACT_MAX = 256,          /* bytes of a dataset that lies in its header */
    CONTIGUOUS_MAX = 64 * 1024, /* beyond it is chunked and compressed */
    SPARSE_MAX = 512 * 1024,    /* the same of a sparse one, of which zlib makes little, but slowly */
    CHUNK_BYTES = 128 * 1024,
    DEFLATE_LEVEL = 1,
    BLOCK_BYTES = 16 * 1024,    /* by which the file grows */
    SIEVE_BYTES = 2048,         /* what is written at once and is shorter waits for what follows */
    LINKS_COMPACT = 1000,       /* links of a group that lie in its header */
    LINKS_MOSTLY = 16,          /* for which it has room at first */
    LINK_CHARACTERS = 12,
    ATTRIBUTE_MAX = 4095,
};

/* The innermost errno that HDF5 reports; its own text goes on with it. */
struct cause {
    int error;
    char text[256];
};

static herr_t find_cause(unsigned n, const H5E_error2_t *entry, void *data)
{
    struct cause *cause = data;
    const char *at = entry->desc ? strstr(entry->desc, "errno = ") : NULL;
    if (at && !cause->error)
        cause->error = atoi(at + strlen("errno = "));
    if (n == 0 && entry->desc)
        snprintf(cause->text, sizeof cause->text, "HDF5: %s", entry->desc);
    return 0;
}

int rkc_h5_refuse(struct rkc_h5 *h5, int status, const char *what)
{
    if (h5->text[0] == '\0')
        snprintf(h5->text, RKC_SINK_TEXT_MAX, "cannot write %s: %s", h5->name, what);
    return status;
}

int rkc_h5_fail(struct rkc_h5 *h5)
{
    struct cause cause = {0, "HDF5 failed"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_cause, &cause);
    return rkc_h5_refuse(h5, RKC_EIO, cause.error ? strerror(cause.error) : cause.text);
}

/* Nobody else knows the temporary file, and where locks are served badly, one can take for minutes:
 * there is none unless HDF5_USE_FILE_LOCKING, which HDF5 itself follows, asks for it. */
static void set_no_lock(hid_t access)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, 0, 1);
#else
    (void)access;
#endif
}

/* What went wrong is told at once: closing anything makes HDF5 forget it. */
static void create_file(struct rkc_h5 *h5, const char *path)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t create = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_meta_block_size(access, BLOCK_BYTES);
    H5Pset_sieve_buf_size(access, SIEVE_BYTES);
    H5Pset_obj_track_times(create, 0);
    H5Pset_link_phase_change(create, LINKS_COMPACT, LINKS_COMPACT / 2);
    set_no_lock(access);
    h5->file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
    if (h5->file < 0)
        rkc_h5_fail(h5);
    H5Pclose(access);
    H5Pclose(create);
}

/* The same without locks, whatever was asked for. HDF5 reads the variable as it starts. */
static void create_unlocked(struct rkc_h5 *h5, const char *path)
{
    H5close();
    if (setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1) != 0)
        return;
    create_file(h5, path);
    if (h5->file < 0)
        return;
    h5->text[0] = '\0';
    h5->note = "the result file's folder knows no locks: HDF5_USE_FILE_LOCKING is not followed";
}

/* Whether HDF5 would lock the file: before 1.10.7 unless it is told not to, since then if it is told
 * to. */
static int may_lock(void)
{
    const char *asked = getenv("HDF5_USE_FILE_LOCKING");
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    if (!asked)
        return 0;
#endif
    return !asked || (strcmp(asked, "FALSE") != 0 && strcmp(asked, "0") != 0);
}

/* HDF5 1.10 crashes or complains at exit over a file that could not be closed. The command, which
 * alone has this file, closes what it opens; this must come before HDF5's first call. */
__attribute__((constructor)) static void forget_exit(void)
{
    H5dont_atexit();
}

hid_t rkc_h5_text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, size ? size : 1) < 0 ||
                      H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

int rkc_h5_create(struct rkc_h5 *h5, const char *path, const char *name,
                  char text[RKC_SINK_TEXT_MAX])
{
    *h5 = (struct rkc_h5){.name = name, .text = text, .note = ""};
    create_file(h5, path);
    if (h5->file < 0 && may_lock())
        create_unlocked(h5, path);
    if (h5->file < 0)
        return RKC_EIO;
    h5->types[RKC_H5_INT] = H5T_STD_I64LE;
    h5->types[RKC_H5_FLOAT] = H5T_IEEE_F64LE;
    h5->scalar = H5Screate(H5S_SCALAR);
    h5->attribute_text = rkc_h5_text_type(1);
    h5->create_compact = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(h5->create_compact, 0);
    H5Pset_layout(h5->create_compact, H5D_COMPACT);
    h5->create_contiguous = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(h5->create_contiguous, 0);
    H5Pset_fill_time(h5->create_contiguous, H5D_FILL_TIME_NEVER);
    h5->create_group = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(h5->create_group, 0);
    H5Pset_link_phase_change(h5->create_group, LINKS_COMPACT, LINKS_COMPACT / 2);
    H5Pset_est_link_info(h5->create_group, LINKS_MOSTLY, LINK_CHARACTERS);
    h5->deflate = H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0;
    if (h5->scalar < 0 || h5->attribute_text < 0 || h5->create_compact < 0 ||
        h5->create_contiguous < 0 || h5->create_group < 0)
        return rkc_h5_fail(h5);
    return 0;
}

static void close_properties(struct rkc_h5 *h5)
{
    H5Sclose(h5->scalar);
    H5Tclose(h5->attribute_text);
    H5Pclose(h5->create_compact);
    H5Pclose(h5->create_contiguous);
    H5Pclose(h5->create_group);
}

int rkc_h5_close(struct rkc_h5 *h5)
{
    close_properties(h5);
    int status = H5Fflush(h5->file, H5F_SCOPE_GLOBAL) < 0 ? rkc_h5_fail(h5) : 0;
    if (H5Fclose(h5->file) < 0 && !status)
        status = rkc_h5_fail(h5);
    h5->file = 0;
    return status;
}

void rkc_h5_discard(struct rkc_h5 *h5)
{
    if (h5->file <= 0)
        return;
    close_properties(h5);
    H5Fclose(h5->file);
    h5->file = 0;
}

static int attribute(struct rkc_h5 *h5, hid_t object, const char *name, hid_t type,
                     const void *value)
{
    hid_t id = H5Acreate2(object, name, type, h5->scalar, H5P_DEFAULT, H5P_DEFAULT);
    if (id < 0)
        return rkc_h5_fail(h5);
    int status = H5Awrite(id, type, value) < 0 ? rkc_h5_fail(h5) : 0;
    H5Aclose(id);
    return status;
}

int rkc_h5_attribute_text(struct rkc_h5 *h5, hid_t object, const char *name, const char *value)
{
    size_t size = strnlen(value, ATTRIBUTE_MAX);
    if (H5Tset_size(h5->attribute_text, size ? size : 1) < 0)
        return rkc_h5_fail(h5);
    return attribute(h5, object, name, h5->attribute_text, value);
}

int rkc_h5_attribute_int(struct rkc_h5 *h5, hid_t object, const char *name, int64_t value)
{
    return attribute(h5, object, name, h5->types[RKC_H5_INT], &value);
}

hid_t rkc_h5_group(struct rkc_h5 *h5, hid_t parent, const char *name, const char *description)
{
    hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, h5->create_group, H5P_DEFAULT);
    if (group < 0) {
        rkc_h5_fail(h5);
        return group;
    }
    if (rkc_h5_attribute_text(h5, group, "description", description)) {
        H5Gclose(group);
        return H5I_INVALID_HID;
    }
    return group;
}

/* Tall chunks: what is read is a column, or everything. */
static hid_t create_chunked(const struct rkc_h5 *h5, const struct rkc_h5_shape *shape,
                            size_t element)
{
    hsize_t chunk[2] = {shape->chunk[0], shape->chunk[1]};
    if (chunk[0] == 0) {
        hsize_t row = element * (shape->n_dims == 2 ? shape->size[1] : 1);
        chunk[0] = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
        if (chunk[0] > shape->size[0])
            chunk[0] = shape->size[0];
        chunk[1] = shape->size[1];
    }
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    if (create < 0)
        return create;
    if (H5Pset_obj_track_times(create, 0) < 0 || H5Pset_chunk(create, shape->n_dims, chunk) < 0 ||
        (h5->deflate &&
         (H5Pset_shuffle(create) < 0 || H5Pset_deflate(create, DEFLATE_LEVEL) < 0))) {
        H5Pclose(create);
        return H5I_INVALID_HID;
    }
    return create;
}

static hid_t create_dataset(struct rkc_h5 *h5, hid_t parent, const char *name, hid_t type,
                            const struct rkc_h5_shape *shape)
{
    size_t element = H5Tget_size(type), size = element;
    for (int i = 0; i < shape->n_dims; i++)
        size *= (size_t)shape->size[i];
    size_t most_plain = shape->sparse ? SPARSE_MAX : CONTIGUOUS_MAX;
    int chunked = shape->grows || (shape->n_dims > 0 && size > most_plain);
    hid_t create = chunked               ? create_chunked(h5, shape, element)
                   : size <= COMPACT_MAX ? h5->create_compact
                                         : h5->create_contiguous;
    hsize_t most[2] = {H5S_UNLIMITED, shape->size[1]};
    hid_t space = shape->n_dims == 0
                      ? h5->scalar
                      : H5Screate_simple(shape->n_dims, shape->size, shape->grows ? most : NULL);
    hid_t dataset = H5I_INVALID_HID;
    if (create >= 0 && space >= 0)
        dataset = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset < 0)
        rkc_h5_fail(h5);
    if (space >= 0 && space != h5->scalar)
        H5Sclose(space);
    if (create >= 0 && chunked)
        H5Pclose(create);
    return dataset;
}

hid_t rkc_h5_dataset(struct rkc_h5 *h5, hid_t parent, const char *name, hid_t type,
                     const struct rkc_h5_shape *shape, const char *units, const char *description)
{
    hid_t dataset = create_dataset(h5, parent, name, type, shape);
    if (dataset >= 0 && (rkc_h5_attribute_text(h5, dataset, "units", units) ||
                         rkc_h5_attribute_text(h5, dataset, "description", description))) {
        H5Dclose(dataset);
        return H5I_INVALID_HID;
    }
    return dataset;
}

int rkc_h5_write_rows(struct rkc_h5 *h5, hid_t dataset, hid_t type, hsize_t first, hsize_t rows,
                      const void *data)
{
    if (rows == 0)
        return 0;
    int status = 0;
    hid_t space = H5Dget_space(dataset);
    hsize_t start[2] = {first, 0}, count[2] = {0, 0};
    if (space < 0 || H5Sget_simple_extent_dims(space, count, NULL) < 0) {
        status = rkc_h5_fail(h5);
        goto done;
    }
    hid_t memory = H5S_ALL, file = H5S_ALL;
    if (first > 0 || rows < count[0]) {
        count[0] = rows;
        int n_dims = H5Sget_simple_extent_ndims(space);
        memory = H5Screate_simple(n_dims, count, NULL);
        file = space;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    if (memory < 0 || H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, data) < 0)
        status = rkc_h5_fail(h5);
    if (memory > 0)
        H5Sclose(memory);
done:
    if (space >= 0)
        H5Sclose(space);
    return status;
}

int rkc_h5_close_dataset(struct rkc_h5 *h5, hid_t dataset)
{
    return H5Dclose(dataset) < 0 ? rkc_h5_fail(h5) : 0;
}

static int put(struct rkc_h5 *h5, hid_t parent, const char *name, hid_t type,
               const struct rkc_h5_shape *shape, const char *units, const char *description,
               const void *data)
{
    hid_t dataset = rkc_h5_dataset(h5, parent, name, type, shape, units, description);
    if (dataset < 0)
        return RKC_EIO;
    int status = 0;
    int empty = shape->n_dims > 0 && (shape->size[0] == 0 || (shape->n_dims > 1 &&
                                                             shape->size[1] == 0));
    if (!empty && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = rkc_h5_fail(h5);
    int closed = rkc_h5_close_dataset(h5, dataset);
    return status ? status : closed;
}

int rkc_h5_put(struct rkc_h5 *h5, hid_t parent, const char *name, int type,
               const struct rkc_h5_shape *shape, const char *units, const char *description,
               const void *data)
{
    return put(h5, parent, name, h5->types[type], shape, units, description, data);
}

int rkc_h5_put_texts(struct rkc_h5 *h5, hid_t parent, const char *name,
                     const struct rkc_h5_shape *shape, const char *units,
                     const char *description, const char *const *texts)
{
    size_t n = shape->n_dims == 0 ? 1 : (size_t)shape->size[0], width = 1;
    for (size_t i = 0; i < n; i++)
        if (texts[i] && strlen(texts[i]) > width)
            width = strlen(texts[i]);
    char *data = calloc(n + 1, width);
    if (!data)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (texts[i]) {
            memcpy(data + i * width, texts[i], strlen(texts[i]));
            rkc_utf8_clean(data + i * width, width);
        }
    hid_t type = rkc_h5_text_type(width);
    int status = type < 0 ? rkc_h5_fail(h5)
                          : put(h5, parent, name, type, shape, units, description, data);
    if (type >= 0)
        H5Tclose(type);
    free(data);
    return status;
}

int rkc_h5_table(struct rkc_h5 *h5, const char *name, const char *description,
                 const struct rkc_column *columns, size_t n_columns, const void *const *data,
                 size_t n_rows, hid_t *group)
{
    hid_t id = rkc_h5_group(h5, h5->file, name, description);
    if (id < 0)
        return RKC_EIO;
    int status = 0;
    struct rkc_h5_shape shape = rkc_h5_column(n_rows);
    for (size_t i = 0; i < n_columns && !status; i++) {
        const struct rkc_column *column = &columns[i];
        if (column->kind == RKC_COLUMN_TEXT)
            status = rkc_h5_put_texts(h5, id, column->name, &shape, column->units,
                                      column->description, (const char *const *)data[i]);
        else
            status = rkc_h5_put(h5, id, column->name, RKC_H5_INT, &shape, column->units,
                                column->description, data[i]);
    }
    if (group && !status)
        *group = id;
    else
        H5Gclose(id);
    return status;
}
