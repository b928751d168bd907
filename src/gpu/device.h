/* device.h - what a device is called. */
#ifndef RKC_GPU_DEVICE_H
#define RKC_GPU_DEVICE_H

#include "gpu/driver.h"

struct rkc_device {
    int index;
    char name[128];
    char uuid[48];       /* "GPU-" or, for an instance of one, "MIG-", and 8-4-4-4-12 digits */
    char pci_bus_id[32]; /* domain:bus:device.function */
};

/* How many devices the program sees. The driver is ready for both. */
int rkc_device_count(int *n);

/* Ask for a device's facts. 0, RKC_ENODEVICE, or what rkc_driver_status makes of a failure. */
int rkc_device_read(int index, struct rkc_device *device);

#endif
