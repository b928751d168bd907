/* A handle is the number of a slot and the count of its uses, so that the handle of a thing that is
 * gone is never that of another. Bit 46 makes it an address at which nothing lies. */
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct slot {
    enum fake_kind kind; /* 0 when it is free */
    uint32_t uses;
    uint32_t next_free;
    void *object;
};

static struct slot *slots;
static uint32_t n_slots;
static uint32_t first_free = UINT32_MAX;
static long n_handles;

static void *encode(uint32_t i)
{
    return (void *)((uintptr_t)1 << 46 | (uintptr_t)(slots[i].uses & 0x3fff) << 32 |
                    (uintptr_t)i << 4);
}

static struct slot *decode(const void *handle)
{
    uintptr_t bits = (uintptr_t)handle;
    uint32_t i = (uint32_t)bits >> 4;
    if (i >= n_slots || encode(i) != handle)
        return NULL;
    return &slots[i];
}

static void grow(void)
{
    uint32_t n = n_slots ? 2 * n_slots : 256;
    struct slot *grown = fake_alloc(n * sizeof(*grown));
    if (n_slots)
        memcpy(grown, slots, n_slots * sizeof(*grown));
    free(slots);
    slots = grown;
    for (uint32_t i = n; i-- > n_slots;) {
        slots[i].next_free = first_free;
        first_free = i;
    }
    n_slots = n;
}

void *fake_handle_new(enum fake_kind kind, void *object)
{
    if (first_free == UINT32_MAX)
        grow();
    uint32_t i = first_free;
    first_free = slots[i].next_free;
    slots[i].kind = kind;
    slots[i].object = object;
    n_handles++;
    return encode(i);
}

void fake_handle_free(void *handle)
{
    struct slot *slot = decode(handle);
    slot->kind = 0;
    slot->object = NULL;
    slot->uses++;
    /* A slot whose count would begin anew is not used again. */
    if (slot->uses & 0x3fff) {
        slot->next_free = first_free;
        first_free = (uint32_t)(slot - slots);
    }
    n_handles--;
}

void *fake_object(enum fake_kind kind, const void *handle)
{
    struct slot *slot = decode(handle);
    return slot && slot->kind == kind ? slot->object : NULL;
}

void fake_each(enum fake_kind kind, void (*function)(void *object, void *data), void *data)
{
    for (uint32_t i = 0; i < n_slots; i++)
        if (slots[i].kind == kind)
            function(slots[i].object, data);
}

void fake_handles_clear(void)
{
    free(slots);
    slots = NULL;
    n_slots = 0;
    first_free = UINT32_MAX;
    n_handles = 0;
}

long fakecuda_handles(void)
{
    fake_lock();
    long n = n_handles;
    fake_unlock();
    return n;
}
