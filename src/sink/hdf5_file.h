/* hdf5_file.h - what the parts of the HDF5 sink share: a file, groups, described datasets. */
#ifndef RKC_SINK_HDF5_FILE_H
#define RKC_SINK_HDF5_FILE_H

#include <hdf5.h>

#include "schema_tables.h"
#include "sink/sink.h"

/* A file being written. Failures leave one line in `text`, the first one stays. */
struct rkc_h5 {
    hid_t file, types[2]; /* of int64 and double */
    hid_t scalar, attribute_text; /* the latter of any size */
    hid_t create_compact, create_contiguous, create_group;
    int deflate;
    const char *name; /* for messages */
    char *text;       /* RKC_SINK_TEXT_MAX bytes, owned by the sink */
    const char *note; /* what the user is to know although it went well, or "" */
};

enum { RKC_H5_INT, RKC_H5_FLOAT };

/* How a dataset is laid out. With `grows` the first dimension is extended later and chunks
 * hold chunk[0] × chunk[1]; else the layout follows from the size. */
struct rkc_h5_shape {
    int n_dims; /* 0 to 2 */
    hsize_t size[2];
    int grows;
    int sparse; /* mostly zeros */
    hsize_t chunk[2];
};

static inline struct rkc_h5_shape rkc_h5_column(hsize_t rows)
{
    return (struct rkc_h5_shape){.n_dims = 1, .size = {rows}};
}

/** Create an HDF5 file.
 *
 * @param path  an existing file, which is overwritten
 * @param name  for messages; kept, not copied
 * @param text  where failures are described; kept, not copied
 */
int rkc_h5_create(struct rkc_h5 *h5, const char *path, const char *name,
                  char text[RKC_SINK_TEXT_MAX]);

/* Write what is left and close. */
int rkc_h5_close(struct rkc_h5 *h5);

/* Close without caring what becomes of it. A file never created is fine. */
void rkc_h5_discard(struct rkc_h5 *h5);

/* Describe the failure that HDF5 has just reported; RKC_EIO. */
int rkc_h5_fail(struct rkc_h5 *h5);

/* Describe a failure of ours; returns `status`. */
int rkc_h5_refuse(struct rkc_h5 *h5, int status, const char *what);

int rkc_h5_attribute_text(struct rkc_h5 *h5, hid_t object, const char *name, const char *value);
int rkc_h5_attribute_int(struct rkc_h5 *h5, hid_t object, const char *name, int64_t value);

/* A new group with its description, or a negative number. */
hid_t rkc_h5_group(struct rkc_h5 *h5, hid_t parent, const char *name, const char *description);

/* A new dataset with units and description, or a negative number. `type` is its type in
 * the file. */
hid_t rkc_h5_dataset(struct rkc_h5 *h5, hid_t parent, const char *name, hid_t type,
                     const struct rkc_h5_shape *shape, const char *units,
                     const char *description);

/* Write `rows` rows of a dataset from row `first` on; memory and file have one type. */
int rkc_h5_write_rows(struct rkc_h5 *h5, hid_t dataset, hid_t type, hsize_t first, hsize_t rows,
                      const void *data);

/* Close a dataset, which writes what HDF5 still holds of it; 0 or RKC_EIO. */
int rkc_h5_close_dataset(struct rkc_h5 *h5, hid_t dataset);

/* Create a dataset, write all of it and close it. */
int rkc_h5_put(struct rkc_h5 *h5, hid_t parent, const char *name, int type,
               const struct rkc_h5_shape *shape, const char *units, const char *description,
               const void *data);

/* The same for texts, NULL ones empty; bytes that are no UTF-8 become '?'. */
int rkc_h5_put_texts(struct rkc_h5 *h5, hid_t parent, const char *name,
                     const struct rkc_h5_shape *shape, const char *units,
                     const char *description, const char *const *texts);

/* A group with a dataset for each column; data[i] is of int64_t or of const char *. The
 * group stays open in *group if that is not NULL. */
int rkc_h5_table(struct rkc_h5 *h5, const char *name, const char *description,
                 const struct rkc_column *columns, size_t n_columns, const void *const *data,
                 size_t n_rows, hid_t *group);

/* A string type of the file's form, to be closed by the caller, or a negative number. */
hid_t rkc_h5_text_type(size_t size);

#endif
