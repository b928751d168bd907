/* The driver itself and its devices: what can be called without a context. */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult initialize(unsigned int flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake.n_devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (!fake.is_initialized && fake.ends_at_exit)
        atexit(fakecuda_deinit);
    fake.is_initialized = 1;
    return CUDA_SUCCESS;
}

static CUresult get_version(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = fake.driver_version;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult result;
    const char *name, *text;
} results[] = {
#define RESULT(name, value, text) {value, #name, text},
#include "constants.def"
};

/* The index of a result, or how many there are. */
static size_t find_result(CUresult result)
{
    size_t i = 0;
    while (i < sizeof(results) / sizeof(*results) && results[i].result != result)
        i++;
    return i;
}

static CUresult get_text(CUresult result, int is_name, const char **text)
{
    size_t i = find_result(result);
    if (i == sizeof(results) / sizeof(*results)) {
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
    *text = is_name ? results[i].name : results[i].text;
    return CUDA_SUCCESS;
}

static const struct fakecuda_device *device_of(CUdevice device)
{
    return device >= 0 && device < fake.n_devices ? &fake.devices[device] : NULL;
}

static CUresult get_count(int *count)
{
    *count = fake.n_devices;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, int ordinal)
{
    if (!device_of(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult get_name(char *name, int size, CUdevice device)
{
    const struct fakecuda_device *facts = device_of(device);
    if (!facts)
        return CUDA_ERROR_INVALID_DEVICE;
    if (size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", facts->name);
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    const struct fakecuda_device *facts = device_of(device);
    if (!facts)
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute >= FAKECUDA_MAX_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    *value = facts->attributes[attribute];
    return CUDA_SUCCESS;
}

static CUresult get_pci_bus_id(char *text, int size, CUdevice device)
{
    const struct fakecuda_device *facts = device_of(device);
    if (!facts)
        return CUDA_ERROR_INVALID_DEVICE;
    if (size <= (int)strlen(facts->pci_bus_id))
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)size, "%s", facts->pci_bus_id);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device, int knows_mig)
{
    const struct fakecuda_device *facts = device_of(device);
    if (!facts)
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, knows_mig && facts->is_mig ? facts->mig_uuid : facts->uuid, 16);
    return CUDA_SUCCESS;
}

static CUresult get_memory(size_t *bytes, CUdevice device)
{
    const struct fakecuda_device *facts = device_of(device);
    if (!facts)
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = facts->memory_bytes;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuInit, (unsigned int flags), initialize(flags))
FAKE_ENTRY(cuDriverGetVersion, (int *version), get_version(version))
FAKE_ENTRY(cuGetErrorName, (CUresult error, const char **name), get_text(error, 1, name))
FAKE_ENTRY(cuGetErrorString, (CUresult error, const char **text), get_text(error, 0, text))
FAKE_ENTRY(cuDeviceGetCount, (int *count), get_count(count))
FAKE_ENTRY(cuDeviceGet, (CUdevice *device, int ordinal), get_device(device, ordinal))
FAKE_ENTRY(cuDeviceGetName, (char *name, int size, CUdevice device), get_name(name, size, device))
FAKE_ENTRY(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
           get_attribute(value, attribute, device))
FAKE_ENTRY(cuDeviceGetPCIBusId, (char *text, int size, CUdevice device),
           get_pci_bus_id(text, size, device))
FAKE_ENTRY(cuDeviceGetUuid, (CUuuid *uuid, CUdevice device), get_uuid(uuid, device, 0))
FAKE_ENTRY(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device), get_uuid(uuid, device, 1))
FAKE_ENTRY(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device), get_memory(bytes, device))

void fakecuda_devices(int n)
{
    fake_lock();
    if (n >= 0 && n <= FAKECUDA_MAX_DEVICES)
        fake.n_devices = n;
    fake_unlock();
}

void fakecuda_driver_version(int version)
{
    fake_lock();
    fake.driver_version = version;
    fake_unlock();
}

struct fakecuda_device *fakecuda_device(int index)
{
    fake_lock();
    struct fakecuda_device *device = NULL;
    if (index >= 0 && index < FAKECUDA_MAX_DEVICES)
        device = &fake.devices[index];
    fake_unlock();
    return device;
}
