/* rules_pointer.c - what the driver says of pointers. */
#include "rules.h"

#include <stdlib.h>

/* Slots as wide as the widest attribute, zero where the driver writes nothing. */
struct facts {
    unsigned type;
    unsigned is_managed;
    int ordinal;
    uint64_t begin, size;
    unsigned long long buffer;
};

static CUresult look(const void *pointer, struct facts *facts)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_BUFFER_ID};
    *facts = (struct facts){.type = 0};
    void *values[] = {&facts->type,  &facts->is_managed, &facts->ordinal,
                      &facts->begin, &facts->size,       &facts->buffer};
    return cuda.cuPointerGetAttributes(6, attributes, values, (CUdeviceptr)(uintptr_t)pointer);
}

static void *device_memory(size_t size)
{
    CUdeviceptr pointer = 0;
    return cuda.cuMemAlloc_v2(&pointer, size) == CUDA_SUCCESS ? (void *)(uintptr_t)pointer : NULL;
}

static void try_plain(void)
{
    struct facts facts;
    unsigned type = 0;
    start();
    char *plain = malloc(4096);
    CUresult result = look(plain, &facts);
    judge(RULE_K1,
          result == CUDA_SUCCESS && facts.type == 0 && facts.is_managed == 0 && facts.buffer == 0,
          "%s, type %u, managed %u, range %llu bytes, buffer %llu", result_name(result), facts.type,
          facts.is_managed, (unsigned long long)facts.size, facts.buffer);
    judge(RULE_K2, result == CUDA_SUCCESS && facts.ordinal <= 0, "%d", facts.ordinal);
    result = cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        (CUdeviceptr)(uintptr_t)plain);
    judge(RULE_K5, result == CUDA_ERROR_INVALID_VALUE, "%s", result_name(result));
}

static void try_kinds(void)
{
    struct facts pinned, device, managed, of_pinned;
    void *host = NULL;
    CUdeviceptr both = 0;
    start();
    char *memory = device_memory(1 << 20);
    cuda.cuMemHostAlloc(&host, 4096, 0);
    look(host, &pinned);
    look(memory, &device);
    judge(RULE_K3,
          pinned.type == CU_MEMORYTYPE_HOST && device.type == CU_MEMORYTYPE_DEVICE &&
              !pinned.is_managed && !device.is_managed,
          "pinned %u, device %u", pinned.type, device.type);
    look(memory + 1000, &device);
    look((char *)host + 10, &of_pinned);
    judge(RULE_K6, device.begin == (uint64_t)(uintptr_t)memory && device.size >= 1 << 20,
          "1000 bytes into 1 MiB the range begins %lld bytes before and has %llu; of pinned memory "
          "%llu",
          (long long)((uint64_t)(uintptr_t)memory + 1000 - device.begin),
          (unsigned long long)device.size, (unsigned long long)of_pinned.size);
    CUresult result = cuda.cuMemAllocManaged(&both, 4096, CU_MEM_ATTACH_GLOBAL);
    if (result != CUDA_SUCCESS) {
        cannot_judge(RULE_K4, "no managed memory: %s", result_name(result));
        return;
    }
    look((void *)(uintptr_t)both, &managed);
    judge(RULE_K4, managed.is_managed == 1, "managed %u, type %u", managed.is_managed,
          managed.type);
}

static void try_buffer_id(void)
{
    struct facts before, after;
    start();
    for (int i = 0; i < 20; i++) {
        void *memory = device_memory(1 << 22);
        look(memory, &before);
        cuda.cuMemFree_v2((CUdeviceptr)(uintptr_t)memory);
        void *again = device_memory(1 << 22);
        look(again, &after);
        if (memory && memory == again) {
            judge(RULE_K7, before.buffer != after.buffer, "%llu, then %llu", before.buffer,
                  after.buffer);
            return;
        }
    }
    cannot_judge(RULE_K7, "no address was used again; %llu, then %llu", before.buffer,
                 after.buffer);
}

static int is_plain(CUresult result, const struct facts *facts)
{
    return result == CUDA_SUCCESS && facts->type == 0 && facts->is_managed == 0;
}

static void try_without_context(void)
{
    struct facts facts;
    start();
    void *memory = device_memory(4096);
    cuda.cuCtxSetCurrent(NULL);
    CUresult result = look(memory, &facts);
    judge(RULE_K8, result == CUDA_SUCCESS && facts.type == CU_MEMORYTYPE_DEVICE, "%s, type %u",
          result_name(result), facts.type);
}

static void try_registered(void)
{
    struct facts before, after;
    start();
    char *plain = aligned_alloc(4096, 8192);
    CUresult result = cuda.cuMemHostRegister_v2(plain, 8192, 0);
    if (result != CUDA_SUCCESS) {
        cannot_judge(RULE_K9, "none can be: %s", result_name(result));
    } else {
        result = look(plain + 5000, &before);
        judge(RULE_K9, result == CUDA_SUCCESS && before.type == CU_MEMORYTYPE_HOST, "%s, type %u",
              result_name(result), before.type);
        cuda.cuMemHostUnregister(plain);
    }
    void *memory = device_memory(1 << 22);
    cuda.cuMemFree_v2((CUdeviceptr)(uintptr_t)memory);
    CUresult freed = look(memory, &before);
    result = look(plain, &after);
    judge(RULE_K10, is_plain(freed, &before) && is_plain(result, &after),
          "freed %s, type %u; unregistered %s, type %u", result_name(freed), before.type,
          result_name(result), after.type);
}

static void try_no_context(void)
{
    struct facts facts;
    unsigned flags;
    int is_active = -1;
    open_driver();
    cuda.cuInit(0);
    CUresult result = look(&facts, &facts);
    cuda.cuDevicePrimaryCtxGetState(0, &flags, &is_active);
    judge(RULE_K11, is_plain(result, &facts) && is_active == 0, "%s, type %u, active %d",
          result_name(result), facts.type, is_active);
}

static void try_two_devices(void)
{
    struct facts first, second;
    start();
    if (n_devices() < 2) {
        cannot_judge(RULE_K12, "there is one device");
        return;
    }
    void *here = device_memory(4096);
    cuda.cuCtxSetCurrent(primary_context(1));
    void *there = device_memory(4096);
    look(here, &first);
    cuda.cuCtxSetCurrent(primary_context(0));
    look(there, &second);
    judge(RULE_K12, first.ordinal == 0 && second.ordinal == 1, "%d and %d", first.ordinal,
          second.ordinal);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_plain, "K1 K2 K5", 0},
        {try_kinds, "K3 K4 K6", 0},
        {try_buffer_id, "K7", 0},
        {try_without_context, "K8", 0},
        {try_registered, "K9 K10", 0},
        {try_no_context, "K11", 0},
        {try_two_devices, "K12", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
