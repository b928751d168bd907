/* buffer.h - bytes that grow as things are put into them, and bytes that things are taken from. */
#ifndef RKC_BUFFER_H
#define RKC_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

/* A growing buffer. Zero it to begin; `failed` is set when memory ran out and sticks. */
struct rkc_buffer {
    char *data;
    size_t size, capacity;
    int failed;
};

void rkc_buffer_free(struct rkc_buffer *buffer);
void rkc_buffer_add(struct rkc_buffer *buffer, const void *data, size_t size);
void rkc_buffer_add_u32(struct rkc_buffer *buffer, uint32_t value);
void rkc_buffer_add_u64(struct rkc_buffer *buffer, uint64_t value);
/* Length and bytes; NULL is "". */
void rkc_buffer_add_text(struct rkc_buffer *buffer, const char *text);
void rkc_buffer_add_ranges(struct rkc_buffer *buffer, const struct rkc_rank_range *ranges,
                           uint32_t n);

/* Reading what may be cut short or hostile: after a failed read `failed` sticks and
 * every further read gives 0. */
struct rkc_cursor {
    const char *at, *end;
    int failed;
};

const void *rkc_cursor_take(struct rkc_cursor *cursor, size_t size); /* NULL when not there */
uint32_t rkc_cursor_u32(struct rkc_cursor *cursor);
uint64_t rkc_cursor_u64(struct rkc_cursor *cursor);
/* A text of at most `max` bytes without NUL inside, copied with malloc. NULL on failure,
 * with `failed` unset when memory ran out. */
char *rkc_cursor_text(struct rkc_cursor *cursor, size_t max);
/* Rising disjoint ranges of ranks, malloc'ed; NULL for none. 0, RKC_ENOMEM or RKC_EFORMAT. */
int rkc_cursor_ranges(struct rkc_cursor *cursor, struct rkc_rank_range **ranges, uint32_t *n);

#endif
