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

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_plain, "K1 K2 K5", 0},
        {try_kinds, "K3 K4 K6", 0},
        {try_buffer_id, "K7", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
