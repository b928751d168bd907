/* memory.c - for memory that it does not know the driver reports success and zeros, and device 0
 * among them: which attributes count depends on those before them. */
#include "autoconf.h"

#include "gpu/memory.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "gpu/driver.h"
#include "schema.h"

static _Atomic uint64_t adds_seen; /* libraries that had been loaded at the last look */
static _Atomic int has_context;

/* ---- whether there is a driver ---- */

struct search {
    uint64_t adds;
    int found;
};

/* Called for each library until it returns other than 0; most often for the first alone. */
static int search(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (size < offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        return search->found = 1; /* a loader that does not count */
    if (info->dlpi_adds == search->adds)
        return 1;
    atomic_store_explicit(&adds_seen, info->dlpi_adds, memory_order_relaxed);
    search->found = strncmp(slash ? slash + 1 : info->dlpi_name, "libcuda.so", 10) == 0;
    return search->found;
}

/* Whether the driver may have come since the last look. To open a library, even one that is there,
 * is to wait for constructors of others, which may wait for this thread: the list of libraries can
 * be read without. */
static int may_have_come(void)
{
    struct search state = {.adds = atomic_load_explicit(&adds_seen, memory_order_relaxed)};
    dl_iterate_phdr(search, &state);
    return state.found;
}

static int find_driver(void)
{
    switch (rkc_driver_state()) {
    case RKC_DRIVER_READY:
        return 1;
    case RKC_DRIVER_ABSENT:
        return may_have_come() && rkc_driver_find() == 0;
    case RKC_DRIVER_UNKNOWN:
    case RKC_DRIVER_ASLEEP:
        return rkc_driver_find() == 0;
    case RKC_DRIVER_CHILD:
    case RKC_DRIVER_BROKEN:
    case RKC_DRIVER_GONE:
        break;
    }
    return 0;
}

/* ---- whether there is a context ---- */

/* Looks and touches nothing: an inactive primary context stays so. */
static int find_context(void)
{
    const struct rkc_driver *driver = &rkc_driver_table;
    CUcontext context = NULL;
    int n = 0;
    if (rkc_driver_status(driver->ctx_get_current(&context)) != 0)
        return 0;
    if (context)
        return 1;
    if (rkc_driver_status(driver->device_get_count(&n)) != 0)
        return 0;
    for (int i = 0; i < n; i++) {
        CUdevice device;
        unsigned flags;
        int is_active = 0;
        if (rkc_driver_status(driver->device_get(&device, i)) == 0 &&
            rkc_driver_status(driver->primary_get_state(device, &flags, &is_active)) == 0 &&
            is_active)
            return 1;
    }
    return 0;
}

int rkc_private_memory_look(void)
{
    int saved = errno;
    int found = find_driver();
    if (found && !atomic_load_explicit(&has_context, memory_order_relaxed)) {
        found = find_context();
        atomic_store_explicit(&has_context, found, memory_order_relaxed);
    }
    errno = saved;
    return found;
}

/* ---- what an address is ---- */

/* As wide as the widest attribute, for truths are as wide as the driver likes. */
struct facts {
    uint64_t is_managed, type;
    int64_t ordinal;
};

static void read_facts(const struct facts *facts, struct rkc_memory *memory)
{
    int32_t ordinal;
    memcpy(&ordinal, &facts->ordinal, sizeof ordinal);
    if (facts->is_managed) {
        memory->kind = RKC_KIND_MANAGED;
    } else if (facts->type == 0) {
        memory->kind = RKC_KIND_HOST;
    } else if (facts->type == RKC_CUDA_MEMORY_HOST) {
        memory->kind = RKC_KIND_PINNED;
    } else if (facts->type == RKC_CUDA_MEMORY_DEVICE) {
        memory->kind = RKC_KIND_DEVICE;
        if (ordinal >= 0 && ordinal <= INT16_MAX)
            memory->device = (int16_t)ordinal;
    }
}

void rkc_private_memory_of(const void *address, struct rkc_memory *memory)
{
    CUpointer_attribute attributes[] = {RKC_CUDA_IS_MANAGED, RKC_CUDA_MEMORY_TYPE,
                                        RKC_CUDA_DEVICE_ORDINAL};
    struct facts facts = {.ordinal = 0};
    void *values[] = {&facts.is_managed, &facts.type, &facts.ordinal};
    const struct rkc_driver *driver = rkc_driver_get();
    *memory = (struct rkc_memory){address ? RKC_KIND_UNKNOWN : RKC_KIND_NONE, -1};
    if (!address || !driver)
        return;
    CUresult result = driver->pointer_get_attributes(sizeof attributes / sizeof *attributes,
                                                     attributes, values, (uintptr_t)address);
    if (result == RKC_CUDA_SUCCESS)
        read_facts(&facts, memory);
    else if (result == RKC_CUDA_INVALID_VALUE)
        memory->kind = RKC_KIND_HOST;
    else
        rkc_driver_status(result); /* it may be the driver's end */
}

void rkc_memory_forget(void)
{
    atomic_store(&adds_seen, 0);
    atomic_store(&has_context, 0);
}
