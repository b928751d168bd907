/* Memory. Device memory is the host's, so that copies move data; what tells the kinds apart is the
 * list of ranges alone. */
#include "double.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum kind { PINNED, REGISTERED, DEVICE, MANAGED };

/* Sorted by address; none overlaps another. */
struct range {
    uintptr_t begin;
    size_t size;
    size_t mapped_bytes; /* to be given back; 0 for memory of the program's own */
    enum kind kind;
    uint64_t id;
    struct fake_context *context;
};

static struct range *ranges;
static size_t n_ranges, n_room;

/* The first range that ends behind an address, or n_ranges. */
static size_t first_behind(uintptr_t address)
{
    size_t low = 0, high = n_ranges;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].begin + ranges[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const struct range *find(uintptr_t address)
{
    size_t i = first_behind(address);
    return i < n_ranges && ranges[i].begin <= address ? &ranges[i] : NULL;
}

static void insert(const struct range *range)
{
    if (n_ranges == n_room) {
        n_room = n_room ? 2 * n_room : 64;
        struct range *grown = fake_alloc(n_room * sizeof(*grown));
        if (n_ranges)
            memcpy(grown, ranges, n_ranges * sizeof(*grown));
        free(ranges);
        ranges = grown;
    }
    size_t i = first_behind(range->begin);
    memmove(&ranges[i + 1], &ranges[i], (n_ranges - i) * sizeof(*ranges));
    ranges[i] = *range;
    n_ranges++;
}

static void take_out(size_t i)
{
    if (ranges[i].mapped_bytes)
        munmap((void *)ranges[i].begin, ranges[i].mapped_bytes);
    n_ranges--;
    memmove(&ranges[i], &ranges[i + 1], (n_ranges - i) * sizeof(*ranges));
}

void fake_memory_clear(const struct fake_context *context)
{
    for (size_t i = n_ranges; i-- > 0;)
        if (!context || ranges[i].context == context)
            take_out(i);
    if (!context) {
        free(ranges);
        ranges = NULL;
        n_room = 0;
    }
}

/* --- allocation ------------------------------------------------------------------------------ */

static size_t free_bytes(int device)
{
    size_t bytes = fake.devices[device].memory_bytes;
    for (size_t i = 0; i < n_ranges; i++)
        if (ranges[i].kind == DEVICE && ranges[i].context->device == device)
            bytes -= ranges[i].size;
    return bytes;
}

static CUresult allocate(void **pointer, size_t size, enum kind kind)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || !size)
        return CUDA_ERROR_INVALID_VALUE;
    if (kind == DEVICE && size > free_bytes(context->device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t mapped_bytes = (size + 4095) & ~(size_t)4095;
    void *memory = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct range range = {
        .begin = (uintptr_t)memory,
        .size = size,
        .mapped_bytes = mapped_bytes,
        .kind = kind,
        .id = fake_new_id(),
        .context = context,
    };
    insert(&range);
    *pointer = memory;
    return CUDA_SUCCESS;
}

static CUresult allocate_device(CUdeviceptr *pointer, size_t size, enum kind kind)
{
    void *memory;
    CUresult result = allocate(&memory, size, kind);
    if (result == CUDA_SUCCESS)
        *pointer = (uintptr_t)memory;
    return result;
}

static CUresult allocate_managed(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    return flags == 0 ? CUDA_ERROR_INVALID_VALUE : allocate_device(pointer, size, MANAGED);
}

/* Memory goes when nothing uses it any more; NULL is none. */
static CUresult give_back(uintptr_t pointer, enum kind kind, enum kind other_kind)
{
    if (!pointer)
        return CUDA_SUCCESS;
    const struct range *range = find(pointer);
    if (!range || range->begin != pointer || (range->kind != kind && range->kind != other_kind))
        return kind == REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
                                  : CUDA_ERROR_INVALID_VALUE;
    fake_wait(fake_context_is_idle, range->context);
    take_out(first_behind(pointer));
    return CUDA_SUCCESS;
}

static CUresult register_memory(void *pointer, size_t size)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || !size)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t begin = (uintptr_t)pointer;
    size_t i = first_behind(begin);
    if (i < n_ranges && ranges[i].begin < begin + size)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct range range = {.begin = begin, .size = size, .kind = REGISTERED, .id = fake_new_id()};
    range.context = context;
    insert(&range);
    return CUDA_SUCCESS;
}

static CUresult get_device_pointer(CUdeviceptr *device, const void *pointer)
{
    const struct range *range = find((uintptr_t)pointer);
    if (!range || range->kind == DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *device = (uintptr_t)pointer;
    return CUDA_SUCCESS;
}

static CUresult get_info(size_t *left_bytes, size_t *total_bytes)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *left_bytes = free_bytes(context->device);
    *total_bytes = fake.devices[context->device].memory_bytes;
    return CUDA_SUCCESS;
}

/* --- what a pointer is ----------------------------------------------------------------------- */

/* The value of an attribute and its size in bytes: 0 for an attribute that is not known. Truths
 * have one byte. What is not the driver's, without a range, has zeros. */
static size_t attribute(CUpointer_attribute which, const struct range *range, uintptr_t pointer,
                        uint64_t *value)
{
    static const struct range none;
    int is_ours = range != NULL;
    if (!is_ours)
        range = &none;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *value = is_ours ? (uintptr_t)range->context->handle : 0;
        return sizeof(CUcontext);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *value = range->kind >= DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        *value *= is_ours;
        return sizeof(unsigned);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *value = is_ours ? pointer : 0;
        return sizeof(CUdeviceptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *value = is_ours && range->kind != DEVICE ? pointer : 0;
        return sizeof(void *);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *value = range->id;
        return sizeof(unsigned long long);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *value = is_ours && range->kind == MANAGED;
        return 1;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *value = is_ours ? (uint64_t)range->context->device : 0;
        return sizeof(int);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *value = range->begin;
        return sizeof(void *);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *value = range->size;
        return sizeof(size_t);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *value = is_ours;
        return 1;
    default:
        return 0;
    }
}

/* Little-endian, as every machine with such a driver. */
static CUresult get_attribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    const struct range *range = find((uintptr_t)pointer);
    uint64_t value;
    size_t size = range ? attribute(which, range, (uintptr_t)pointer, &value) : 0;
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, size);
    return CUDA_SUCCESS;
}

static CUresult get_attributes(unsigned n, const CUpointer_attribute *which, void **data,
                               CUdeviceptr pointer)
{
    const struct range *range = find((uintptr_t)pointer);
    for (unsigned i = 0; i < n; i++) {
        uint64_t value;
        size_t size = attribute(which[i], range, (uintptr_t)pointer, &value);
        if (!size)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(data[i], &value, size);
    }
    return CUDA_SUCCESS;
}

/* --- copies ---------------------------------------------------------------------------------- */

enum place { HOST_SIDE, DEVICE_SIDE, ANY_SIDE };

/* What is named as device memory has to be the driver's, as far as it is used. */
static int is_usable(uintptr_t pointer, size_t size, enum place place)
{
    const struct range *range = find(pointer);
    if (place == DEVICE_SIDE && !range)
        return 0;
    return !range || pointer + size <= range->begin + range->size;
}

static CUresult submit_copy(uintptr_t to, enum place to_place, uintptr_t from,
                            enum place from_place, size_t size, CUstream handle)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_usable(to, size, to_place) || !is_usable(from, size, from_place))
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op = fake_op_new(FAKE_COPY, 0);
    op->copy.to = (void *)to;
    op->copy.from = (const void *)from;
    op->copy.size = size;
    return fake_submit(stream, op);
}

static CUresult submit_fill(CUdeviceptr to, unsigned char value, size_t size, CUstream handle)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_usable((uintptr_t)to, size, DEVICE_SIDE))
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op = fake_op_new(FAKE_FILL, 0);
    op->fill.to = (void *)(uintptr_t)to;
    op->fill.value = value;
    op->fill.size = size;
    return fake_submit(stream, op);
}

/* Wait for what was submitted to the legacy stream. */
static CUresult finish(CUresult submitted)
{
    struct fake_stream *stream;
    CUresult result = submitted;
    if (result == CUDA_SUCCESS)
        result = fake_stream_get(CU_STREAM_LEGACY, &stream);
    if (result == CUDA_SUCCESS)
        fake_wait(fake_stream_is_idle, stream);
    return result;
}

FAKE_ENTRY(cuMemGetInfo_v2, (size_t *left_bytes, size_t *total_bytes),
           get_info(left_bytes, total_bytes))
FAKE_ENTRY(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t size),
           allocate_device(pointer, size, DEVICE))
FAKE_ENTRY(cuMemAllocManaged, (CUdeviceptr *pointer, size_t size, unsigned int flags),
           allocate_managed(pointer, size, flags))
FAKE_ENTRY(cuMemFree_v2, (CUdeviceptr pointer), give_back((uintptr_t)pointer, DEVICE, MANAGED))
FAKE_ENTRY(cuMemAllocHost_v2, (void **pointer, size_t size), allocate(pointer, size, PINNED))
FAKE_ENTRY(cuMemHostAlloc, (void **pointer, size_t size, unsigned int flags),
           ((void)flags, allocate(pointer, size, PINNED)))
FAKE_ENTRY(cuMemFreeHost, (void *pointer), give_back((uintptr_t)pointer, PINNED, PINNED))
FAKE_ENTRY(cuMemHostRegister_v2, (void *pointer, size_t size, unsigned int flags),
           ((void)flags, register_memory(pointer, size)))
FAKE_ENTRY(cuMemHostUnregister, (void *pointer),
           give_back((uintptr_t)pointer, REGISTERED, REGISTERED))
FAKE_ENTRY(cuMemHostGetDevicePointer_v2, (CUdeviceptr *device, void *pointer, unsigned int flags),
           flags ? CUDA_ERROR_INVALID_VALUE : get_device_pointer(device, pointer))
FAKE_ENTRY(cuPointerGetAttribute, (void *value, CUpointer_attribute which, CUdeviceptr pointer),
           get_attribute(value, which, pointer))
FAKE_ENTRY(cuPointerGetAttributes,
           (unsigned int n, CUpointer_attribute *which, void **values, CUdeviceptr pointer),
           get_attributes(n, which, values, pointer))
FAKE_ENTRY(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t size),
           finish(submit_copy((uintptr_t)to, ANY_SIDE, (uintptr_t)from, ANY_SIDE, size, NULL)))
FAKE_ENTRY(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size),
           finish(submit_copy((uintptr_t)to, DEVICE_SIDE, (uintptr_t)from, HOST_SIDE, size, NULL)))
FAKE_ENTRY(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size),
           finish(submit_copy((uintptr_t)to, HOST_SIDE, (uintptr_t)from, DEVICE_SIDE, size, NULL)))
FAKE_ENTRY(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t size),
           finish(submit_copy((uintptr_t)to, DEVICE_SIDE, (uintptr_t)from, DEVICE_SIDE, size,
                              NULL)))
FAKE_ENTRY(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
           submit_copy((uintptr_t)to, ANY_SIDE, (uintptr_t)from, ANY_SIDE, size, stream))
FAKE_ENTRY(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t size, CUstream stream),
           submit_copy((uintptr_t)to, DEVICE_SIDE, (uintptr_t)from, HOST_SIDE, size, stream))
FAKE_ENTRY(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t size, CUstream stream),
           submit_copy((uintptr_t)to, HOST_SIDE, (uintptr_t)from, DEVICE_SIDE, size, stream))
FAKE_ENTRY(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
           submit_copy((uintptr_t)to, DEVICE_SIDE, (uintptr_t)from, DEVICE_SIDE, size, stream))
FAKE_ENTRY(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n),
           finish(submit_fill(to, value, n, NULL)))
FAKE_ENTRY(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream stream),
           submit_fill(to, value, n, stream))
