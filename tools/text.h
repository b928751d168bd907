/* text.h - names and numbers as a terminal shows them.
 *
 * Names in a result file are not trusted: what a terminal could take for a command never gets
 * through. Formatted cells are short ASCII texts, or "-" for what was not measured.
 */
#ifndef RKC_TEXT_H
#define RKC_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    RKC_CELL_MAX = 32,    /* bytes of a formatted number */
    RKC_NAME_CELL = 1024, /* bytes that hold any name, shortened or not */
};

/* Whether the locale's characters are UTF-8; else texts are plain ASCII. */
int rkc_text_utf8(void);

/* Copy a name without what is no printable character ("?" stands in for it). Cut to `size`. */
void rkc_text_clean(const char *name, int utf8, char *out, size_t size);

/* Columns that a clean text takes. */
int rkc_text_columns(const char *text);

/* Clean a name and shorten it in the middle to at most `columns`, with an ellipsis. */
void rkc_text_fit(const char *name, int columns, int utf8, char *out, size_t size);

/* Shorten a name as rkc_text_fit does and write it, with blanks behind it up to `columns`. */
void rkc_text_put(FILE *out, const char *name, int columns, int utf8);

/* Write a clean text in lines of at most `columns`, broken at blanks; each line but the first
 * begins with `indent` blanks, and on the first that much is written already. */
void rkc_text_wrap(FILE *out, const char *text, int indent, int columns);

/* Each formats into `out` and returns it. Negative and NaN are "-". */

/* Seconds with a number of decimals; what is not 0 and would look like it is "<.01". */
char *rkc_text_seconds(double ns, int decimals, char out[RKC_CELL_MAX]);

/* Decimals that suit times up to `longest_ns`. */
int rkc_text_decimals(double longest_ns);

/* "12345", "1.23M" */
char *rkc_text_count(double count, char out[RKC_CELL_MAX]);

/* "8B", "48KiB": powers of 1024, for message sizes. */
char *rkc_text_size(double bytes, char out[RKC_CELL_MAX]);

/* "8B", "4.12TB": powers of 1000, for volumes, which rates are in as well. */
char *rkc_text_volume(double bytes, char out[RKC_CELL_MAX]);

/* A fraction as "41.2". */
char *rkc_text_percent(double fraction, char out[RKC_CELL_MAX]);

/* "0.83"; large ones as counts. */
char *rkc_text_ratio(double ratio, char out[RKC_CELL_MAX]);

/* "r17" */
char *rkc_text_rank(int64_t rank, char out[RKC_CELL_MAX]);

#endif
