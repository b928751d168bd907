/* devices.c - what a rank sends has to be received whether there is memory for it or not. */
#include "autoconf.h"

#include "devices.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

static int bytes_of(const struct rkc_rank_row *row)
{
    return row->n_devices * (int)sizeof(struct rkc_rank_device);
}

int rkc_devices_send(const struct rkc_link *link, const struct rkc_local *local, int tag,
                     struct rkc_pending *pending)
{
    return rkc_link_send(link, local->devices, bytes_of(&local->row), 0, tag, pending);
}

static int make_room(struct rkc_device_list *list, size_t n)
{
    if (list->n + n <= list->capacity)
        return 1;
    size_t capacity = 2 * (list->n + n);
    struct rkc_rank_device *grown = realloc(list->devices, capacity * sizeof *grown);
    if (!grown)
        return 0;
    list->devices = grown;
    list->capacity = capacity;
    return 1;
}

int rkc_devices_take(struct rkc_device_list *list, const struct rkc_link *link, int from, int tag,
                     const struct rkc_local *local, struct rkc_rank_row *row)
{
    const struct rkc_rank_device *devices = list->arriving;
    if (row->n_devices <= 0)
        return 0;
    if (from == link->rank) {
        devices = local->devices;
    } else {
        struct rkc_pending pending;
        int status = rkc_link_receive(link, list->arriving, bytes_of(row), from, tag, &pending);
        if (status == 0)
            status = rkc_link_wait(link, &pending);
        if (status != 0)
            return status;
    }
    if (!make_room(list, (size_t)row->n_devices)) {
        list->failed = 1;
        row->n_devices = 0;
        return 0;
    }
    memcpy(list->devices + list->n, devices, (size_t)bytes_of(row));
    list->n += (size_t)row->n_devices;
    return 0;
}
