/* buffer.c - what memory or bytes ran out of fails at the end, once, so that packing and unpacking
 * read as what they do. */
#include "autoconf.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

void rkc_buffer_free(struct rkc_buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    *buffer = (struct rkc_buffer){0};
}

/* Make room for `size` more bytes; 0 where there is none. */
static int reserve_bytes(struct rkc_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return 0;
    if (size <= buffer->capacity - buffer->size)
        return 1;
    size_t wanted = buffer->size + size;
    size_t doubled = buffer->capacity ? 2 * buffer->capacity : 256;
    char *data = wanted < size ? NULL : realloc(buffer->data, wanted > doubled ? wanted : doubled);
    if (!data) {
        buffer->failed = 1;
        return 0;
    }
    buffer->data = data;
    buffer->capacity = wanted > doubled ? wanted : doubled;
    return 1;
}

void rkc_buffer_add(struct rkc_buffer *buffer, const void *data, size_t size)
{
    if (size == 0 || !reserve_bytes(buffer, size))
        return;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void rkc_buffer_add_u32(struct rkc_buffer *buffer, uint32_t value)
{
    rkc_buffer_add(buffer, &value, sizeof value);
}

void rkc_buffer_add_u64(struct rkc_buffer *buffer, uint64_t value)
{
    rkc_buffer_add(buffer, &value, sizeof value);
}

void rkc_buffer_add_text(struct rkc_buffer *buffer, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length > UINT32_MAX) {
        buffer->failed = 1;
        return;
    }
    rkc_buffer_add_u32(buffer, (uint32_t)length);
    rkc_buffer_add(buffer, text, length);
}

void rkc_buffer_add_ranges(struct rkc_buffer *buffer, const struct rkc_rank_range *ranges,
                           uint32_t n)
{
    rkc_buffer_add_u32(buffer, n);
    rkc_buffer_add(buffer, ranges, n * sizeof *ranges);
}

const void *rkc_cursor_take(struct rkc_cursor *cursor, size_t size)
{
    if (cursor->failed || size > (size_t)(cursor->end - cursor->at)) {
        cursor->failed = 1;
        return NULL;
    }
    const char *taken = cursor->at;
    cursor->at += size;
    return taken;
}

/* The bytes need not be aligned, so that numbers are copied out of them. */
uint32_t rkc_cursor_u32(struct rkc_cursor *cursor)
{
    uint32_t value = 0;
    const void *taken = rkc_cursor_take(cursor, sizeof value);
    if (taken)
        memcpy(&value, taken, sizeof value);
    return value;
}

uint64_t rkc_cursor_u64(struct rkc_cursor *cursor)
{
    uint64_t value = 0;
    const void *taken = rkc_cursor_take(cursor, sizeof value);
    if (taken)
        memcpy(&value, taken, sizeof value);
    return value;
}

char *rkc_cursor_text(struct rkc_cursor *cursor, size_t max)
{
    uint32_t length = rkc_cursor_u32(cursor);
    const char *text = rkc_cursor_take(cursor, length);
    if (!text)
        return NULL;
    if (length > max || memchr(text, '\0', length)) {
        cursor->failed = 1;
        return NULL;
    }
    char *copy = malloc((size_t)length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

int rkc_cursor_ranges(struct rkc_cursor *cursor, struct rkc_rank_range **ranges, uint32_t *n)
{
    uint32_t n_taken = rkc_cursor_u32(cursor);
    const void *taken = rkc_cursor_take(cursor, n_taken * sizeof **ranges);
    if (!taken)
        return RKC_EFORMAT;
    struct rkc_rank_range *copy = NULL;
    if (n_taken > 0) {
        copy = malloc(n_taken * sizeof *copy);
        if (!copy)
            return RKC_ENOMEM;
        memcpy(copy, taken, n_taken * sizeof *copy);
    }
    int32_t before = -1;
    for (uint32_t i = 0; i < n_taken; i++) {
        if (copy[i].first <= before || copy[i].last < copy[i].first) {
            cursor->failed = 1;
            free(copy);
            return RKC_EFORMAT;
        }
        before = copy[i].last;
    }
    *ranges = copy;
    *n = n_taken;
    return 0;
}
