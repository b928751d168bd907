/* line.h - text put together in a signal handler, where snprintf may not be called.
 *
 * All of it is async-signal-safe. What does not fit is cut, and `cut` says so.
 */
#ifndef RKC_LINE_H
#define RKC_LINE_H

#include <stddef.h>
#include <string.h>

struct rkc_line {
    char *text; /* always ends in NUL */
    size_t size, used;
    int cut;
};

static inline struct rkc_line rkc_line_in(char *text, size_t size)
{
    text[0] = 0;
    return (struct rkc_line){.text = text, .size = size};
}

/* Add so many bytes of a text. */
static inline void rkc_line_add_part(struct rkc_line *line, const char *text, size_t length)
{
    size_t room = line->size - 1 - line->used;
    line->cut |= length > room;
    if (length > room)
        length = room;
    memcpy(line->text + line->used, text, length);
    line->used += length;
    line->text[line->used] = 0;
}

static inline void rkc_line_add(struct rkc_line *line, const char *text)
{
    rkc_line_add_part(line, text, strlen(text));
}

static inline void rkc_line_add_number(struct rkc_line *line, long number)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned long left = number < 0 ? 0 - (unsigned long)number : (unsigned long)number;
    digits[--at] = 0;
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        digits[--at] = '-';
    rkc_line_add(line, digits + at);
}

#endif
