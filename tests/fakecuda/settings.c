/* The double's defaults and the environment's say. A setting that makes no sense ends the program,
 * for a test that runs on without it would show nothing. */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_device(struct fakecuda_device *device, int i)
{
    static const struct {
        int attribute, value;
    } attributes[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
        {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    };
    memset(device, 0, sizeof(*device));
    const char *name = getenv("FAKECUDA_NAME");
    if (name)
        snprintf(device->name, sizeof(device->name), "%s", name);
    else
        snprintf(device->name, sizeof(device->name), "Fake GPU %d", i);
    snprintf(device->pci_bus_id, sizeof(device->pci_bus_id), "0000:%02X:00.0", i + 1);
    for (int j = 0; j < 16; j++) {
        device->uuid[j] = (unsigned char)(16 * i + j);
        device->mig_uuid[j] = (unsigned char)(0x80 + 16 * i + j);
    }
    device->memory_bytes = (size_t)80 << 30;
    for (size_t j = 0; j < sizeof(attributes) / sizeof(*attributes); j++)
        device->attributes[attributes[j].attribute] = attributes[j].value;
    device->attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = i + 1;
}

_Noreturn static void refuse(const char *name, const char *value)
{
    fprintf(stderr, "fakecuda: %s=%s is not understood\n", name, value);
    abort();
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end)
        refuse(name, text);
    return value;
}

/* Call a function for each part of a variable that commas separate. */
static void each_part(const char *name, int (*function)(char *part))
{
    const char *text = getenv(name);
    if (!text || !*text)
        return;
    char *copy = strdup(text), *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
        if (!function(part))
            refuse(name, text);
    free(copy);
}

/* SYMBOL:CODE[:SKIP[:TIMES]] */
static int set_fault(char *part)
{
    char symbol[64];
    int code, skip = 0, times = -1;
    if (sscanf(part, "%63[^:]:%d:%d:%d", symbol, &code, &skip, &times) < 2)
        return 0;
    return fake_set_fault(symbol, code, skip, times) == CUDA_SUCCESS;
}

/* [NAME:]NS */
static int set_kernel(char *part)
{
    char *colon = strrchr(part, ':'), *end;
    const char *digits = colon ? colon + 1 : part;
    long ns = strtol(digits, &end, 10);
    if (*end || !*digits)
        return 0;
    if (colon)
        *colon = '\0';
    fake_kernel_define(colon ? part : NULL, ns);
    return 1;
}

static void set_gpu_clock(void)
{
    fake.gpu_offset_ns = INT64_C(7777777777);
    fake.gpu_drift_ppb = 0;
    fake.gpu_tick_ns = 32;
    const char *text = getenv("FAKECUDA_GPU_CLOCK");
    if (!text || !*text)
        return;
    long long offset_ns;
    double drift_ppm;
    unsigned tick_ns;
    if (sscanf(text, "%lld:%lf:%u", &offset_ns, &drift_ppm, &tick_ns) != 3 || tick_ns == 0)
        refuse("FAKECUDA_GPU_CLOCK", text);
    fake.gpu_offset_ns = offset_ns;
    fake.gpu_drift_ppb = (int64_t)(drift_ppm * 1000);
    fake.gpu_tick_ns = tick_ns;
}

void fake_settings(void)
{
    fake.n_devices = (int)number("FAKECUDA_DEVICES", 1);
    if (fake.n_devices < 0 || fake.n_devices > FAKECUDA_MAX_DEVICES)
        refuse("FAKECUDA_DEVICES", getenv("FAKECUDA_DEVICES"));
    fake.driver_version = (int)number("FAKECUDA_DRIVER_VERSION", 13000);
    fake.is_free = number("FAKECUDA_ZERO_COST", 0) != 0;
    fake.is_virtual = fake.is_free || number("FAKECUDA_VIRTUAL", 0) != 0;
    fake.virtual_ns = INT64_C(1000000000);
    fake.is_logging = number("FAKECUDA_LOG", 0) != 0;
    fake.ends_at_exit = number("FAKECUDA_DEINIT_AT_EXIT", 0) != 0;
    fake.sticky = (CUresult)number("FAKECUDA_STICKY", CUDA_SUCCESS);
    set_gpu_clock();
    for (int i = 0; i < FAKECUDA_MAX_DEVICES; i++) {
        set_device(&fake.devices[i], i);
        fake.devices[i].is_mig = number("FAKECUDA_MIG", 0) != 0;
    }
    each_part("FAKECUDA_FAIL", set_fault);
    each_part("FAKECUDA_KERNEL_NS", set_kernel);
}
