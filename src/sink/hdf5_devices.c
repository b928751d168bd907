/* hdf5_devices.c - /devices and /device_use. A device is known again by its node and its UUID, or
 * by its bus id where there is no UUID; ranks number devices each for itself. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

enum { USE_CHUNK = 4096 };

struct rkc_h5_device {
    int64_t node;
    struct rkc_rank_device what; /* its times are the first rank's, and not written */
};

static const struct rkc_column use_columns[] = {RKC_DEVICE_USE_LIST(RKC_COLUMN_ROW)};

int rkc_h5_devices_begin(struct rkc_h5 *h5, struct rkc_h5_devices *devices)
{
    devices->use.full = USE_CHUNK;
    devices->use_group = rkc_h5_group(h5, h5->file, "device_use",
                                      "the devices of each rank: a row for each of the two");
    return devices->use_group < 0 ? RKC_EIO : 0;
}

/* ---- which device ---- */

static uint32_t hash_device(int64_t node, const struct rkc_rank_device *device)
{
    uint32_t hash = (2166136261u ^ (uint32_t)node) * 16777619u; /* FNV-1a */
    const char *name = device->uuid[0] ? device->uuid : device->bus_id;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* A device of which neither is known is known by its number. */
static int is_device(const struct rkc_h5_device *known, int64_t node,
                     const struct rkc_rank_device *device)
{
    if (known->node != node || strcmp(known->what.uuid, device->uuid) != 0)
        return 0;
    if (device->uuid[0])
        return 1;
    return strcmp(known->what.bus_id, device->bus_id) == 0 &&
           (device->bus_id[0] || known->what.index == device->index);
}

static int grow_devices(struct rkc_h5_devices *devices)
{
    size_t cap = devices->cap_devices ? 2 * devices->cap_devices : 64;
    struct rkc_h5_device *more = realloc(devices->devices, cap * sizeof *more);
    if (!more)
        return RKC_ENOMEM;
    devices->devices = more;
    devices->cap_devices = cap;
    uint32_t *index = calloc(2 * cap, sizeof *index);
    if (!index)
        return RKC_ENOMEM;
    free(devices->index);
    devices->index = index;
    devices->index_size = 2 * cap;
    for (size_t i = 0; i < devices->n_devices; i++) {
        size_t at = hash_device(more[i].node, &more[i].what) % devices->index_size;
        while (index[at])
            at = (at + 1) % devices->index_size;
        index[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* The row of a device, added if new; or RKC_ENOMEM. */
static int64_t device_get(struct rkc_h5_devices *devices, int64_t node,
                          const struct rkc_rank_device *device)
{
    if (devices->n_devices == devices->cap_devices && grow_devices(devices))
        return RKC_ENOMEM;
    size_t at = hash_device(node, device) % devices->index_size;
    for (; devices->index[at]; at = (at + 1) % devices->index_size)
        if (is_device(&devices->devices[devices->index[at] - 1], node, device))
            return (int64_t)devices->index[at] - 1;
    devices->devices[devices->n_devices] = (struct rkc_h5_device){node, *device};
    devices->index[at] = (uint32_t)++devices->n_devices;
    return (int64_t)devices->n_devices - 1;
}

/* ---- who used it ---- */

static int flush_use(struct rkc_h5 *h5, struct rkc_h5_devices *devices, int last)
{
    struct rkc_h5_block *block = &devices->use;
    struct rkc_h5_shape shape = rkc_h5_block_shape(block, last);
    int status = 0;
    for (int i = 0; i < RKC_DEVICE_USE_COLUMNS && !status; i++) {
        if (block->written == 0)
            devices->column_ids[i] = rkc_h5_dataset(
                h5, devices->use_group, use_columns[i].name, h5->types[RKC_H5_INT], &shape,
                use_columns[i].units, use_columns[i].description);
        status = devices->column_ids[i] < 0
                     ? RKC_EIO
                     : rkc_h5_block_write(h5, block, devices->column_ids[i], H5T_NATIVE_INT64, 1,
                                          devices->columns[i]);
    }
    rkc_h5_block_empty(block);
    return status;
}

static int add_use(struct rkc_h5 *h5, struct rkc_h5_devices *devices, int32_t rank, int64_t device,
                   const struct rkc_rank_device *used)
{
    struct rkc_h5_block *block = &devices->use;
    int status = block->rows == block->full ? flush_use(h5, devices, 0) : 0;
    if (status)
        return status;
    if (rkc_h5_block_grow(block, block->rows + 1, devices->columns, RKC_DEVICE_USE_COLUMNS, 1))
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    size_t at = block->rows++;
    devices->columns[RKC_DEVICE_USE_RANK][at] = rank;
    devices->columns[RKC_DEVICE_USE_DEVICE][at] = device;
    devices->columns[RKC_DEVICE_USE_INDEX][at] = used->index;
    devices->columns[RKC_DEVICE_USE_COVERED][at] = used->covered_ns;
    devices->columns[RKC_DEVICE_USE_NS][at] = used->ns;
    devices->columns[RKC_DEVICE_USE_NUMA][at] = used->rank_numa_node;
    return 0;
}

int rkc_h5_devices_add(struct rkc_h5 *h5, struct rkc_h5_devices *devices, int32_t rank,
                       int64_t node, const struct rkc_rank_device *used, int32_t n, int64_t *most,
                       int64_t *ns)
{
    int64_t most_ns = -1, sum_ns = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t device = device_get(devices, node, &used[i]);
        if (device < 0)
            return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
        int status = add_use(h5, devices, rank, device, &used[i]);
        if (status)
            return status;
        if (used[i].ns > most_ns) {
            most_ns = used[i].ns;
            *most = device;
        }
        if (__builtin_add_overflow(sum_ns, used[i].ns, &sum_ns))
            sum_ns = INT64_MAX;
    }
    *ns = sum_ns;
    return 0;
}

/* ---- the end ---- */

static int put_devices(struct rkc_h5 *h5, const struct rkc_h5_devices *devices)
{
    static const struct rkc_column columns[] = {RKC_DEVICES_LIST(RKC_COLUMN_ROW)};
    size_t n = devices->n_devices;
    const char **texts = calloc(3 * n + 1, sizeof *texts);
    int64_t *numbers = calloc(4 * n + 1, sizeof *numbers);
    int status = RKC_ENOMEM;
    if (!texts || !numbers) {
        rkc_h5_refuse(h5, status, "out of memory");
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        const struct rkc_h5_device *device = &devices->devices[i];
        numbers[i] = device->node;
        numbers[n + i] = device->what.index;
        numbers[2 * n + i] = device->what.driver_version;
        numbers[3 * n + i] = device->what.numa_node;
        texts[i] = device->what.name;
        texts[n + i] = device->what.uuid;
        texts[2 * n + i] = device->what.bus_id;
    }
    const void *data[RKC_DEVICES_COLUMNS] = {
        [RKC_DEVICES_NODE] = numbers,   [RKC_DEVICES_INDEX] = numbers + n,
        [RKC_DEVICES_NAME] = texts,     [RKC_DEVICES_UUID] = texts + n,
        [RKC_DEVICES_BUS_ID] = texts + 2 * n, [RKC_DEVICES_DRIVER] = numbers + 2 * n,
        [RKC_DEVICES_NUMA] = numbers + 3 * n};
    status = rkc_h5_table(h5, "devices", "the devices that ranks used, one row each", columns,
                          RKC_DEVICES_COLUMNS, data, n, NULL);
done:
    free(texts);
    free(numbers);
    return status;
}

static int close_ids(struct rkc_h5 *h5, struct rkc_h5_devices *devices)
{
    int status = 0;
    for (int i = 0; i < RKC_DEVICE_USE_COLUMNS; i++)
        if (devices->column_ids[i] > 0 && rkc_h5_close_dataset(h5, devices->column_ids[i]))
            status = RKC_EIO;
    if (devices->use_group > 0)
        H5Gclose(devices->use_group);
    memset(devices->column_ids, 0, sizeof devices->column_ids);
    devices->use_group = 0;
    return status;
}

int rkc_h5_devices_end(struct rkc_h5 *h5, struct rkc_h5_devices *devices)
{
    int status = flush_use(h5, devices, 1);
    int closed = close_ids(h5, devices);
    status = status ? status : closed;
    return status ? status : put_devices(h5, devices);
}

void rkc_h5_devices_free(struct rkc_h5 *h5, struct rkc_h5_devices *devices)
{
    close_ids(h5, devices);
    for (int i = 0; i < RKC_DEVICE_USE_COLUMNS; i++)
        free(devices->columns[i]);
    free(devices->devices);
    free(devices->index);
    memset(devices, 0, sizeof *devices);
}
