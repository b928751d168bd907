/* device.c - of an instance (MIG) the first form of the call gives the whole GPU's UUID. */
#include "autoconf.h"

#include "gpu/device.h"

#include <stdio.h>
#include <string.h>

int rkc_device_count(int *n)
{
    int count;
    int status = rkc_driver_status(rkc_driver_table.device_get_count(&count));
    if (!status)
        *n = count;
    return status;
}

static void print_uuid(const char *kind, const CUuuid *uuid, char text[48])
{
    int used = snprintf(text, 48, "%s", kind);
    for (int i = 0; i < 16; i++)
        used += snprintf(text + used, 48 - (size_t)used, "%s%02x",
                         i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                         (unsigned char)uuid->bytes[i]);
}

static int read_uuid(CUdevice handle, char text[48])
{
    const struct rkc_driver *driver = &rkc_driver_table;
    CUuuid whole, own;
    int status = rkc_driver_status(driver->device_get_uuid(&whole, handle));
    if (status)
        return status;
    own = whole;
    if (driver->device_get_uuid_v2)
        status = rkc_driver_status(driver->device_get_uuid_v2(&own, handle));
    if (!status)
        print_uuid(memcmp(&own, &whole, sizeof own) == 0 ? "GPU" : "MIG", &own, text);
    return status;
}

int rkc_device_read(int index, struct rkc_device *device)
{
    const struct rkc_driver *driver = &rkc_driver_table;
    struct rkc_device read = {.index = index};
    CUdevice handle;
    int status = rkc_driver_status(driver->device_get(&handle, index));
    if (!status)
        status =
            rkc_driver_status(driver->device_get_name(read.name, (int)sizeof read.name, handle));
    if (!status)
        status = rkc_driver_status(
            driver->device_get_pci_bus_id(read.pci_bus_id, (int)sizeof read.pci_bus_id, handle));
    if (!status)
        status = read_uuid(handle, read.uuid);
    if (!status)
        *device = read;
    return status;
}
