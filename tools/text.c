/* text.c - widths are in columns of the terminal, sizes in bytes; only ASCII has both alike. */
#include "autoconf.h"

#include "text.h"
#include "utf8.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

int rkc_text_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Decode one character: its length in bytes, or 0 if it is not UTF-8 or a control character. */
static size_t decode(const char *text, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length = rkc_utf8_char(text, 4);
    *code = length <= 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        *code = *code << 6 | (s[i] & 0x3fu);
    return length;
}

/* Columns of a character, or -1 if it must not reach a terminal: the invisible marks that reorder
 * or hide what stands around them. */
static int code_columns(uint32_t code)
{
    if (code < 0x80)
        return 1;
    if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
        (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code == 0x061c)
        return -1;
    return wcwidth((wchar_t)code);
}

void rkc_text_clean(const char *name, int utf8, char *out, size_t size)
{
    size_t used = 0;
    for (const char *s = name; *s;) {
        uint32_t code = 0;
        size_t length = decode(s, &code);
        int keep = length && (utf8 || length == 1) && code_columns(code) >= 0;
        size_t add = keep ? length : 1;
        if (used + add >= size)
            break;
        if (keep)
            memcpy(out + used, s, length);
        else
            out[used] = '?';
        used += add;
        s += length ? length : 1;
    }
    out[used] = '\0';
}

int rkc_text_columns(const char *text)
{
    int columns = 0;
    while (*text) {
        uint32_t code = 0;
        size_t length = decode(text, &code);
        int wide = length ? code_columns(code) : 1;
        columns += wide > 0 ? wide : 0;
        text += length ? length : 1;
    }
    return columns;
}

/* The bytes at the start of a clean text that take at most `columns`. */
static size_t head_bytes(const char *text, int columns)
{
    size_t bytes = 0;
    while (text[bytes]) {
        uint32_t code = 0;
        size_t length = decode(text + bytes, &code);
        columns -= length ? code_columns(code) : 1;
        if (columns < 0)
            break;
        bytes += length ? length : 1;
    }
    return bytes;
}

void rkc_text_fit(const char *name, int columns, int utf8, char *out, size_t size)
{
    char clean[RKC_NAME_CELL];
    rkc_text_clean(name, utf8, clean, sizeof clean);
    int wide = rkc_text_columns(clean);
    if (columns < 1 || wide <= columns) {
        snprintf(out, size, "%s", columns < 1 ? "" : clean);
        return;
    }
    /* The end says more than the beginning, and gets the odd column. */
    int head = (columns - 1) / 2;
    int tail = columns - 1 - head;
    size_t skip = head_bytes(clean, wide - tail);
    while (rkc_text_columns(clean + skip) > tail) {
        uint32_t code;
        skip += decode(clean + skip, &code);
    }
    snprintf(out, size, "%.*s%s%s", (int)head_bytes(clean, head), clean, utf8 ? "…" : "~",
             clean + skip);
}

void rkc_text_put(FILE *out, const char *name, int columns, int utf8)
{
    char text[RKC_NAME_CELL];
    rkc_text_fit(name, columns, utf8, text, sizeof text);
    int blanks = columns - rkc_text_columns(text);
    fprintf(out, "%s%*s", text, blanks > 0 ? blanks : 0, "");
}

void rkc_text_wrap(FILE *out, const char *text, int indent, int columns)
{
    int column = indent;
    for (const char *word = text; *word;) {
        char copy[RKC_NAME_CELL];
        size_t length = strcspn(word, " ");
        snprintf(copy, sizeof copy, "%.*s", (int)length, word);
        int wide = rkc_text_columns(copy);
        if (column > indent && column + 1 + wide > columns) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(out, "%s", column > indent ? " " : "") + wide;
        fputs(copy, out);
        word += length;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

static char *absent(char out[RKC_CELL_MAX])
{
    memcpy(out, "-", 2);
    return out;
}

static int is_measured(double value)
{
    return value >= 0 && isfinite(value);
}

int rkc_text_decimals(double longest_ns)
{
    double seconds = longest_ns / 1e9;
    return seconds >= 1000 ? 1 : seconds >= 10 ? 2 : seconds >= 1 ? 3 : 4;
}

char *rkc_text_seconds(double ns, int decimals, char out[RKC_CELL_MAX])
{
    if (!is_measured(ns))
        return absent(out);
    double seconds = ns / 1e9;
    double least = pow(10, -decimals);
    if (seconds > 0 && seconds < least / 2)
        snprintf(out, RKC_CELL_MAX, "<.%0*d", decimals, 1);
    else
        snprintf(out, RKC_CELL_MAX, "%.*f", decimals, seconds);
    return out;
}

/* Three digits and a unit, `step` apart; below `exact` the number itself. */
static char *scaled(double value, double step, double exact, const char *const units[], int n,
                    char out[RKC_CELL_MAX])
{
    if (!is_measured(value))
        return absent(out);
    int i = 0;
    if (value >= exact) {
        /* 999.5 would be printed as 1000. */
        while (i + 1 < n && (i == 0 || value >= (step == 1000 ? 999.5 : 1023.5))) {
            value /= step;
            i++;
        }
    }
    int decimals = i == 0 || value >= 99.95 || value == floor(value) ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, RKC_CELL_MAX, "%.*f%s", decimals, value, units[i]);
    return out;
}

char *rkc_text_count(double count, char out[RKC_CELL_MAX])
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    return scaled(count, 1000, 99999.5, units, 7, out);
}

char *rkc_text_size(double bytes, char out[RKC_CELL_MAX])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return scaled(bytes, 1024, 1023.5, units, 7, out);
}

char *rkc_text_volume(double bytes, char out[RKC_CELL_MAX])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    return scaled(bytes, 1000, 999.5, units, 7, out);
}

char *rkc_text_percent(double fraction, char out[RKC_CELL_MAX])
{
    if (!is_measured(fraction))
        return absent(out);
    if (fraction > 0 && fraction < 0.0005)
        snprintf(out, RKC_CELL_MAX, "<.1");
    else
        snprintf(out, RKC_CELL_MAX, "%.1f", 100 * fraction);
    return out;
}

char *rkc_text_ratio(double ratio, char out[RKC_CELL_MAX])
{
    if (!is_measured(ratio))
        return absent(out);
    if (ratio >= 99.995)
        return rkc_text_count(ratio, out);
    snprintf(out, RKC_CELL_MAX, "%.2f", ratio);
    return out;
}

char *rkc_text_rank(int64_t rank, char out[RKC_CELL_MAX])
{
    if (rank < 0)
        return absent(out);
    snprintf(out, RKC_CELL_MAX, "r%lld", (long long)rank);
    return out;
}
