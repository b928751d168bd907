/* index.h - arrays that grow, and hash tables that tell where in one a thing is. */
#ifndef RKC_INDEX_H
#define RKC_INDEX_H

#include <stdint.h>
#include <stdlib.h>

#include <rankclock/status.h>

struct rkc_profile;

/* A hash of the thing numbered `i` in one of a profile's arrays. */
typedef uint32_t rkc_index_hash(const struct rkc_profile *profile, uint32_t i);

static inline int64_t rkc_sum_counts(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The array with room for one more than `n`, or NULL with the old one untouched. */
static inline void *rkc_array_grow(void *array, uint32_t n, uint32_t *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(array, wanted * size);
    if (grown)
        *capacity = wanted;
    return grown;
}

static inline uint32_t rkc_hash_words(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ b * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32 ^ hash >> 15);
}

static inline void rkc_index_put(uint32_t *index, uint32_t size, uint32_t hash, uint32_t value)
{
    while (index[hash & (size - 1)])
        hash++;
    index[hash & (size - 1)] = value + 1;
}

/* Make room for entry `n` in an index, which is never more than half full. */
static inline int rkc_index_reserve(uint32_t **index, uint32_t *size, uint32_t n,
                                    const struct rkc_profile *profile, rkc_index_hash *hash)
{
    if (2 * (n + 1) <= *size)
        return 0;
    uint32_t wanted = *size ? 2 * *size : 64;
    uint32_t *grown = calloc(wanted, sizeof *grown);
    if (!grown)
        return RKC_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        rkc_index_put(grown, wanted, hash(profile, i), i);
    free(*index);
    *index = grown;
    *size = wanted;
    return 0;
}

#endif
