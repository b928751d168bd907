/* utf8.h - tell text that is safe to store and to show from other bytes. */
#ifndef RKC_UTF8_H
#define RKC_UTF8_H

#include <stddef.h>

/* The length of the well-formed UTF-8 character at `text` (Unicode 15, table 3-7), at most
 * `size` bytes; 0 if there is none or it is a control character. */
static inline size_t rkc_utf8_char(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    if (size == 0 || at[0] < 0x20 || at[0] == 0x7f)
        return 0;
    if (at[0] < 0x80)
        return 1;

    size_t length = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > size)
        return 0;
    /* The second byte rules out what has a shorter form, surrogates and C1 controls. */
    unsigned char low = 0x80, high = 0xbf;
    switch (at[0]) {
    case 0xc2: low = 0xa0; break;
    case 0xe0: low = 0xa0; break;
    case 0xed: high = 0x9f; break;
    case 0xf0: low = 0x90; break;
    case 0xf4: high = 0x8f; break;
    }
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return length;
}

/* Put '?' in place of every byte that is no part of such a character, up to a NUL. */
static inline void rkc_utf8_clean(char *text, size_t size)
{
    for (size_t i = 0; i < size && text[i] != '\0';) {
        size_t length = rkc_utf8_char(text + i, size - i);
        if (length == 0) {
            text[i] = '?';
            length = 1;
        }
        i += length;
    }
}

#endif
