/* A handle is the number of a slot and the count of its uses, so that the handle of a thing that is
 * gone is never that of another. Bit 46 makes it an address at which nothing lies. */
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct fake_slot *fake_slots;
uint32_t fake_n_slots;
static uint32_t first_free = UINT32_MAX;
static long n_handles;

static void grow(void)
{
    uint32_t n = fake_n_slots ? 2 * fake_n_slots : 256;
    struct fake_slot *grown = fake_alloc(n * sizeof(*grown));
    if (fake_n_slots)
        memcpy(grown, fake_slots, fake_n_slots * sizeof(*grown));
    free(fake_slots);
    fake_slots = grown;
    for (uint32_t i = n; i-- > fake_n_slots;) {
        fake_slots[i].next_free = first_free;
        first_free = i;
    }
    fake_n_slots = n;
}

void *fake_handle_new(enum fake_kind kind, void *object)
{
    if (first_free == UINT32_MAX)
        grow();
    uint32_t i = first_free;
    first_free = fake_slots[i].next_free;
    fake_slots[i].kind = kind;
    fake_slots[i].object = object;
    n_handles++;
    return (void *)fake_handle_bits(i);
}

void fake_handle_free(void *handle)
{
    struct fake_slot *slot = &fake_slots[(uint32_t)(uintptr_t)handle >> 4];
    slot->kind = 0;
    slot->object = NULL;
    slot->uses++;
    /* A slot whose count would begin anew is not used again. */
    if (slot->uses & 0x3fff) {
        slot->next_free = first_free;
        first_free = (uint32_t)(slot - fake_slots);
    }
    n_handles--;
}

void fake_each(enum fake_kind kind, void (*function)(void *object, void *data), void *data)
{
    for (uint32_t i = 0; i < fake_n_slots; i++)
        if (fake_slots[i].kind == kind)
            function(fake_slots[i].object, data);
}

void fake_handles_clear(void)
{
    free(fake_slots);
    fake_slots = NULL;
    fake_n_slots = 0;
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
