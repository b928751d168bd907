/* reader_file.h - arrays out of an HDF5 file that may be damaged or hostile. */
#ifndef RKC_READER_FILE_H
#define RKC_READER_FILE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "schema_tables.h"

struct rkc_source_block;

/* An open file, and all memory that was taken for it. A failure leaves one line in `text`. */
struct rkc_source {
    hid_t file;
    const char *path;
    char *text;
    size_t size;                     /* of `text` */
    int status;                      /* of the latest failure */
    int is_hdf5;                     /* it begins as such a file does */
    uint64_t bytes;                  /* of the file */
    uint64_t budget;                 /* memory that may still be taken */
    struct rkc_source_block *blocks; /* taken, newest first */
};

enum rkc_array_kind { RKC_ARRAY_INT, RKC_ARRAY_FLOAT, RKC_ARRAY_TEXT };

/* An array of one or two dimensions; `columns` is 1 with one. Texts end with NUL, are safe
 * to show and lie `width` bytes apart. */
struct rkc_array {
    size_t rows, columns, width;
    union {
        int64_t *ints;
        double *floats;
        char *texts;
        void *data;
    };
};

#define RKC_ANY_SIZE SIZE_MAX

/* What an array must be like. */
struct rkc_array_shape {
    enum rkc_array_kind kind;
    int n_dims;           /* 0 to 2 */
    size_t rows, columns; /* or RKC_ANY_SIZE */
};

/** Open a file, checking only that it is HDF5.
 *
 * @return 0, RKC_EIO or RKC_EFORMAT; after a failure nothing is to be closed
 */
int rkc_source_open(struct rkc_source *source, const char *path, char *text, size_t size);

/* Close the file and free every block. */
void rkc_source_close(struct rkc_source *source);

/* Write the failure's line, "PATH: damaged: ..." for RKC_EFORMAT; returns `status`. */
__attribute__((format(printf, 3, 4))) int rkc_source_fail(struct rkc_source *source, int status,
                                                          const char *format, ...);

/* Zeroed memory, freed with the file or by rkc_source_release; NULL when there is none, or
 * when more is asked for than an honest file of this size could need. The line is written
 * then, and `status` of the source set. */
void *rkc_source_alloc(struct rkc_source *source, size_t n, size_t bytes);
void rkc_source_release(struct rkc_source *source, void *block);

/* Whether there is an object of this name, reached by hard links alone; others might lead
 * into other files. */
int rkc_source_has(struct rkc_source *source, const char *name);
int rkc_source_has_group(struct rkc_source *source, const char *name);

/* Open a dataset of a shape and find its size; a negative id when it is not there or not
 * so. *array gets all but the data. */
hid_t rkc_source_dataset(struct rkc_source *source, const char *name,
                         const struct rkc_array_shape *shape, struct rkc_array *array);

/* Read a dataset; 0, RKC_EFORMAT or RKC_ENOMEM. */
int rkc_source_read(struct rkc_source *source, const char *name,
                    const struct rkc_array_shape *shape, struct rkc_array *array);

/* Read the columns of a table, all of one length. */
int rkc_source_table(struct rkc_source *source, const char *name,
                     const struct rkc_column *columns, size_t n_columns,
                     struct rkc_array *arrays);

/* The names in a group, in alphabetical order; 0, RKC_EFORMAT or RKC_ENOMEM. */
int rkc_source_names(struct rkc_source *source, const char *group, char ***names, size_t *n);

/* A text attribute of the file, or NULL. */
char *rkc_source_attribute(struct rkc_source *source, const char *name);

/* HDF5 keeps quiet between these two; a program may have a handler of its own. */
struct rkc_quiet {
    H5E_auto2_t handler;
    void *data;
};
void rkc_quiet_begin(struct rkc_quiet *quiet);
void rkc_quiet_end(const struct rkc_quiet *quiet);

#endif
