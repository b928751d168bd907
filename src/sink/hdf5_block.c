/* hdf5_block.c - rows wait in memory until they fill chunks: a table with fewer is written in one
 * go, with datasets of its exact size, and one with more grows. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdlib.h>

#include <rankclock/status.h>

int rkc_h5_block_grow(struct rkc_h5_block *block, size_t want, int64_t **arrays, size_t n,
                      size_t width)
{
    if (want <= block->cap)
        return 0;
    size_t cap = block->cap ? 2 * block->cap : 64;
    while (cap < want)
        cap *= 2;
    if (cap > block->full)
        cap = block->full;
    for (size_t i = 0; i < n; i++) {
        int64_t *more = realloc(arrays[i], cap * width * sizeof *more + 1);
        if (!more)
            return RKC_ENOMEM;
        arrays[i] = more;
    }
    block->cap = cap;
    return 0;
}

struct rkc_h5_shape rkc_h5_block_shape(const struct rkc_h5_block *block, int last)
{
    return (struct rkc_h5_shape){.n_dims = 1,
                                 .size = {block->rows},
                                 .grows = !last,
                                 .chunk = {last ? 0 : block->full}};
}

int rkc_h5_block_write(struct rkc_h5 *h5, const struct rkc_h5_block *block, hid_t id, hid_t type,
                       uint32_t width, const void *data)
{
    hsize_t size[2] = {block->written + block->rows, width};
    if (block->written > 0 && H5Dset_extent(id, size) < 0)
        return rkc_h5_fail(h5);
    return rkc_h5_write_rows(h5, id, type, block->written, block->rows, data);
}
