/* reader_file.c - HDF5 is asked for data only once their type, size and place are known to be
 * ones that rankclock writes.
 *
 * So links into other files, data kept in other files, filters and conversions that a result
 * file never needs are not reached, and no size is believed that the file could not hold. */
#include "autoconf.h"

#include "reader_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "utf8.h"

enum {
    NAMES_MAX = 10000, /* objects in one group */
    NAME_MAX_BYTES = 255,
    TEXT_MAX = 16 * 1024 * 1024, /* bytes of one text */
    ATTRIBUTE_MAX = 4096,
    CHUNK_MAX = 64 * 1024 * 1024, /* bytes of one chunk, unpacked */
    RATIO_MAX = 1100,             /* more than deflate can save */
    SLACK = 16 * 1024 * 1024,
};
#define ROWS_MAX UINT64_C(100000000)

/* What is said of a block comes before it. */
struct rkc_source_block {
    struct rkc_source_block *next, *previous;
    size_t bytes;
    max_align_t data[];
};

int rkc_source_fail(struct rkc_source *source, int status, const char *format, ...)
{
    source->status = status;
    if (!source->text || source->size == 0)
        return status;
    const char *kind = status == RKC_EFORMAT && source->is_hdf5 ? "damaged: " : "";
    int at = snprintf(source->text, source->size, "%s: %s", source->path, kind);
    va_list values;
    va_start(values, format);
    if (at >= 0 && (size_t)at < source->size)
        vsnprintf(source->text + at, source->size - (size_t)at, format, values);
    va_end(values);
    rkc_utf8_clean(source->text, source->size);
    return status;
}

void *rkc_source_alloc(struct rkc_source *source, size_t n, size_t bytes)
{
    size_t size;
    if (__builtin_mul_overflow(n, bytes, &size) || size > source->budget) {
        rkc_source_fail(source, RKC_EFORMAT, "it claims to hold more than it could");
        return NULL;
    }
    struct rkc_source_block *block = calloc(1, sizeof *block + size + 1);
    if (!block) {
        rkc_source_fail(source, RKC_ENOMEM, "out of memory");
        return NULL;
    }
    source->budget -= size;
    block->bytes = size;
    block->next = source->blocks;
    if (block->next)
        block->next->previous = block;
    source->blocks = block;
    return block->data;
}

void rkc_source_release(struct rkc_source *source, void *data)
{
    if (!data)
        return;
    struct rkc_source_block *block =
        (struct rkc_source_block *)((char *)data - offsetof(struct rkc_source_block, data));
    if (block->previous)
        block->previous->next = block->next;
    else
        source->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    source->budget += block->bytes;
    free(block);
}

/* Whether the file begins as HDF5 does. */
static int check_signature(struct rkc_source *source)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    int fd = open(source->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return rkc_source_fail(source, RKC_EIO, "%s", strerror(errno));
    struct stat facts;
    char head[sizeof signature];
    int status = 0;
    if (fstat(fd, &facts))
        status = rkc_source_fail(source, RKC_EIO, "%s", strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = rkc_source_fail(source, RKC_EIO, "not a regular file");
    if (!status) {
        ssize_t n = pread(fd, head, sizeof head, 0);
        if (n < 0)
            status = rkc_source_fail(source, RKC_EIO, "%s", strerror(errno));
        else if (n == 0)
            status = rkc_source_fail(source, RKC_EFORMAT, "the file is empty");
        else if (n < (ssize_t)sizeof head || memcmp(head, signature, sizeof head) != 0)
            status = rkc_source_fail(source, RKC_EFORMAT, "not an HDF5 file");
        else
            source->is_hdf5 = 1;
    }
    source->bytes = status ? 0 : (uint64_t)facts.st_size;
    close(fd);
    return status;
}

/* A lock keeps off writers; where the file system has none, nobody needs it. */
static void set_locking(hid_t access, int lock)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, lock, 1);
#else
    (void)access;
    (void)lock;
#endif
}

int rkc_source_open(struct rkc_source *source, const char *path, char *text, size_t size)
{
    *source = (struct rkc_source){.file = -1, .path = path, .text = text, .size = size};
    int status = check_signature(source);
    if (status)
        return status;
    source->budget = source->bytes * 2 * RATIO_MAX + SLACK;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    for (int lock = 1; source->file < 0 && lock >= 0; lock--) {
        set_locking(access, lock);
        source->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    H5Pclose(access);
    if (source->file < 0)
        return rkc_source_fail(source, RKC_EFORMAT, "HDF5 cannot open it; is it cut short?");
    return 0;
}

void rkc_source_close(struct rkc_source *source)
{
    if (source->file >= 0)
        H5Fclose(source->file);
    source->file = -1;
    while (source->blocks)
        rkc_source_release(source, source->blocks->data);
}

int rkc_source_has(struct rkc_source *source, const char *name)
{
    char prefix[512];
    if (strlen(name) >= sizeof prefix)
        return 0;
    const char *end = name;
    while (*end) {
        end += strcspn(end + 1, "/") + 1;
        H5L_info_t link;
        memcpy(prefix, name, (size_t)(end - name));
        prefix[end - name] = '\0';
        if (H5Lexists(source->file, prefix, H5P_DEFAULT) <= 0 ||
            H5Lget_info(source->file, prefix, &link, H5P_DEFAULT) < 0 ||
            link.type != H5L_TYPE_HARD)
            return 0;
    }
    return 1;
}

static hid_t open_object(struct rkc_source *source, const char *name, H5I_type_t type)
{
    if (!rkc_source_has(source, name))
        return H5I_INVALID_HID;
    hid_t id = H5Oopen(source->file, name, H5P_DEFAULT);
    if (id >= 0 && H5Iget_type(id) != type) {
        H5Oclose(id);
        return H5I_INVALID_HID;
    }
    return id;
}

int rkc_source_has_group(struct rkc_source *source, const char *name)
{
    hid_t id = open_object(source, name, H5I_GROUP);
    if (id < 0)
        return 0;
    H5Oclose(id);
    return 1;
}

/* Whether a type is what rankclock writes; *bytes gets its size. */
static int type_fits(hid_t type, enum rkc_array_kind kind, size_t *bytes)
{
    *bytes = H5Tget_size(type);
    switch (kind) {
    case RKC_ARRAY_INT:
        return H5Tget_class(type) == H5T_INTEGER && H5Tequal(type, H5T_STD_I64LE) > 0;
    case RKC_ARRAY_FLOAT:
        return H5Tget_class(type) == H5T_FLOAT && H5Tequal(type, H5T_IEEE_F64LE) > 0;
    default:
        return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && *bytes > 0 &&
               *bytes <= TEXT_MAX;
    }
}

static int filters_fit(hid_t create)
{
    int n = H5Pget_nfilters(create);
    for (int i = 0; i < n; i++) {
        unsigned flags, values[16], config;
        size_t n_values = 16;
        char name[64];
        H5Z_filter_t filter = H5Pget_filter2(create, (unsigned)i, &flags, &n_values, values,
                                             sizeof name, name, &config);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32)
            return 0;
    }
    return n >= 0;
}

/* Whether the chunks are of a sane size and all there: one that is not would be filled in. */
static int chunks_fit(hid_t dataset, hid_t create, hid_t space, int n_dims, const hsize_t *dims,
                      size_t element)
{
    hsize_t chunk[2] = {1, 1}, want = 1, bytes = element, there = 0;
    if (n_dims == 0 || H5Pget_chunk(create, n_dims, chunk) != n_dims)
        return 0;
    for (int i = 0; i < n_dims; i++) {
        if (chunk[i] == 0 || chunk[i] > CHUNK_MAX / bytes)
            return 0;
        bytes *= chunk[i];
        want *= (dims[i] + chunk[i] - 1) / chunk[i];
    }
    return want == 0 || (H5Dget_num_chunks(dataset, space, &there) >= 0 && there == want);
}

/* Whether the data lie in the file itself, and all of them. */
static int layout_fits(struct rkc_source *source, hid_t dataset, hid_t space, int n_dims,
                       const hsize_t *dims, size_t element)
{
    uint64_t size = element;
    for (int i = 0; i < n_dims; i++)
        if (__builtin_mul_overflow(size, dims[i], &size))
            return 0;
    hid_t create = H5Dget_create_plist(dataset);
    int fits = 0;
    if (create >= 0 && H5Pget_external_count(create) == 0)
        switch (H5Pget_layout(create)) {
        case H5D_COMPACT:
        case H5D_CONTIGUOUS:
            /* HDF5 1.10 reads beyond a compact dataset that is shorter than its dataspace. */
            fits = size <= source->bytes && H5Pget_nfilters(create) == 0 &&
                   (size == 0 || H5Dget_storage_size(dataset) == size);
            break;
        case H5D_CHUNKED:
            fits = size / RATIO_MAX <= source->bytes && filters_fit(create) &&
                   chunks_fit(dataset, create, space, n_dims, dims, element);
            break;
        default:
            break;
        }
    if (create >= 0)
        H5Pclose(create);
    return fits;
}

/* Whether a dataset is of a shape; fills in its size. */
static int dataset_fits(struct rkc_source *source, hid_t dataset,
                        const struct rkc_array_shape *shape, struct rkc_array *array)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hsize_t dims[2] = {1, 1};
    size_t element = 0;
    H5S_class_t wanted = shape->n_dims == 0 ? H5S_SCALAR : H5S_SIMPLE;
    int fits = type >= 0 && space >= 0 && type_fits(type, shape->kind, &element) &&
               H5Sget_simple_extent_type(space) == wanted &&
               H5Sget_simple_extent_ndims(space) == shape->n_dims &&
               (shape->n_dims == 0 || H5Sget_simple_extent_dims(space, dims, NULL) >= 0) &&
               dims[0] <= ROWS_MAX && dims[1] <= ROWS_MAX &&
               (shape->rows == RKC_ANY_SIZE || shape->rows == dims[0]) &&
               (shape->columns == RKC_ANY_SIZE || shape->n_dims < 2 ||
                shape->columns == dims[1]) &&
               layout_fits(source, dataset, space, shape->n_dims, dims, element);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    *array = (struct rkc_array){.rows = (size_t)dims[0], .columns = (size_t)dims[1],
                                .width = element};
    return fits;
}

hid_t rkc_source_dataset(struct rkc_source *source, const char *name,
                         const struct rkc_array_shape *shape, struct rkc_array *array)
{
    hid_t dataset = open_object(source, name, H5I_DATASET);
    if (dataset < 0) {
        rkc_source_fail(source, RKC_EFORMAT, "/%s is missing", name);
    } else if (!dataset_fits(source, dataset, shape, array)) {
        rkc_source_fail(source, RKC_EFORMAT, "/%s is not of the type and size it should be", name);
        H5Dclose(dataset);
        dataset = H5I_INVALID_HID;
    }
    return dataset;
}

/* Texts without a NUL at their end, `bytes` each, get one, and are made safe to show. */
static int end_texts(struct rkc_source *source, struct rkc_array *array, const char *raw)
{
    size_t n = array->rows * array->columns, bytes = array->width;
    array->width = bytes + 1;
    array->texts = rkc_source_alloc(source, n, array->width);
    if (!array->texts)
        return source->status;
    for (size_t i = 0; i < n; i++) {
        char *text = array->texts + i * array->width;
        memcpy(text, raw + i * bytes, bytes);
        rkc_utf8_clean(text, bytes);
    }
    return 0;
}

static int read_data(struct rkc_source *source, hid_t dataset, const char *name,
                     enum rkc_array_kind kind, struct rkc_array *array)
{
    size_t n = array->rows * array->columns;
    hid_t type = H5Dget_type(dataset);
    void *data = rkc_source_alloc(source, n, array->width);
    int status = 0;
    if (!data)
        status = source->status;
    else if (n > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = rkc_source_fail(source, RKC_EFORMAT, "/%s cannot be read", name);
    H5Tclose(type);
    if (!status && kind == RKC_ARRAY_TEXT)
        status = end_texts(source, array, data);
    else if (!status)
        array->data = data;
    if (status || kind == RKC_ARRAY_TEXT)
        rkc_source_release(source, data);
    return status;
}

int rkc_source_read(struct rkc_source *source, const char *name,
                    const struct rkc_array_shape *shape, struct rkc_array *array)
{
    struct rkc_array new;
    hid_t dataset = rkc_source_dataset(source, name, shape, &new);
    if (dataset < 0)
        return RKC_EFORMAT;
    int status = read_data(source, dataset, name, shape->kind, &new);
    H5Dclose(dataset);
    if (!status)
        *array = new;
    return status;
}

int rkc_source_table(struct rkc_source *source, const char *name,
                     const struct rkc_column *columns, size_t n_columns, struct rkc_array *arrays)
{
    struct rkc_array_shape shape = {.n_dims = 1, .rows = RKC_ANY_SIZE};
    for (size_t i = 0; i < n_columns; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", name, columns[i].name);
        shape.kind = columns[i].kind == RKC_COLUMN_TEXT ? RKC_ARRAY_TEXT : RKC_ARRAY_INT;
        int status = rkc_source_read(source, path, &shape, &arrays[i]);
        if (status)
            return status;
        shape.rows = arrays[i].rows;
    }
    return 0;
}

struct name_list {
    struct rkc_source *source;
    char **names;
    size_t n, cap;
    int status;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    (void)group;
    (void)info;
    struct name_list *list = data;
    if (list->n == NAMES_MAX)
        return 1;
    size_t bytes = strlen(name) + 1;
    if (bytes > NAME_MAX_BYTES + 1)
        return 0; /* none of ours */
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 32;
        char **more = rkc_source_alloc(list->source, cap, sizeof *more);
        if (!more)
            goto failed;
        if (list->n > 0)
            memcpy(more, list->names, list->n * sizeof *more);
        rkc_source_release(list->source, list->names);
        list->names = more;
        list->cap = cap;
    }
    char *copy = rkc_source_alloc(list->source, bytes, 1);
    if (!copy)
        goto failed;
    memcpy(copy, name, bytes);
    list->names[list->n++] = copy;
    return 0;
failed:
    list->status = list->source->status;
    return -1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int rkc_source_names(struct rkc_source *source, const char *group, char ***names, size_t *n)
{
    struct name_list list = {.source = source};
    hid_t id = open_object(source, group, H5I_GROUP);
    if (id < 0)
        return rkc_source_fail(source, RKC_EFORMAT, "/%s is missing", group);
    herr_t done = H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, &list);
    H5Oclose(id);
    if (list.status)
        return list.status;
    if (done < 0)
        return rkc_source_fail(source, RKC_EFORMAT, "/%s cannot be listed", group);
    if (list.n > 0)
        qsort(list.names, list.n, sizeof *list.names, compare_names);
    *names = list.names;
    *n = list.n;
    return 0;
}

char *rkc_source_attribute(struct rkc_source *source, const char *name)
{
    if (H5Aexists(source->file, name) <= 0)
        return NULL;
    hid_t attribute = H5Aopen(source->file, name, H5P_DEFAULT);
    if (attribute < 0)
        return NULL;
    char *text = NULL;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    size_t bytes = 0;
    if (type >= 0 && space >= 0 && type_fits(type, RKC_ARRAY_TEXT, &bytes) &&
        bytes <= ATTRIBUTE_MAX && H5Sget_simple_extent_type(space) == H5S_SCALAR)
        text = rkc_source_alloc(source, bytes + 1, 1);
    if (text && H5Aread(attribute, type, text) < 0) {
        rkc_source_release(source, text);
        text = NULL;
    }
    if (text)
        rkc_utf8_clean(text, bytes);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(attribute);
    return text;
}

void rkc_quiet_begin(struct rkc_quiet *quiet)
{
    *quiet = (struct rkc_quiet){NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &quiet->handler, &quiet->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void rkc_quiet_end(const struct rkc_quiet *quiet)
{
    H5Eset_auto2(H5E_DEFAULT, quiet->handler, quiet->data);
}
