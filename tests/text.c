/* text.c - names cannot harm a terminal, and cells keep to their columns. */
#include "autoconf.h"

#include "../tools/text.h"

#include <locale.h>

#include "tap.h"

static const char *fit(const char *name, int columns, int utf8)
{
    static char out[RKC_NAME_CELL];
    rkc_text_fit(name, columns, utf8, out, sizeof out);
    return out;
}

static void test_names(int has_utf8)
{
    is_str(fit("halo", 10, 0), "halo", "a short name stays");
    is_str(fit("abcdefghij", 7, 0), "abc~hij", "a long one is shortened in the middle");
    is_str(fit("abcdefghij", 6, 0), "ab~hij", "the end gets the odd column");
    is_str(fit("a\x1b[31mb\nc", 20, 0), "a?[31mb?c", "no control character gets through");
    is_str(fit("a\xff\xc3"
               "zb",
               20, 0),
           "a??zb", "nor what is no UTF-8");
    is_str(fit("\xc3\xbc", 20, 0), "?", "without UTF-8 all is ASCII");
    is_str(fit("x", 0, 0), "", "no columns, no text");
    if (!has_utf8) {
        skip(8, "no UTF-8 locale");
        return;
    }
    is_str(fit("\xc3\xbc"
               "ber",
               20, 1),
           "\xc3\xbc"
           "ber",
           "in UTF-8 letters stay");
    is_int(rkc_text_columns("\xc3\xbc"
                            "ber"),
           4, "and count as one column each");
    is_int(rkc_text_columns("\xe6\xbc\xa2"), 2, "a wide one as two");
    is_str(fit("abcdefghij", 7, 1), "abc\xe2\x80\xa6hij", "the ellipsis is one character");
    is_int(rkc_text_columns(fit("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 6, 1)) <= 6, 1,
           "wide letters are never cut in half");
    is_str(fit("a\xe2\x80\xae"
               "b",
               20, 1),
           "a?b", "marks that turn the text around are refused");
    is_str(fit("a\xc2\x9b"
               "b",
               20, 1),
           "a??b", "C1 controls as well");
    is_str(fit("\xed\xa0\x80", 20, 1), "???", "a surrogate is no character");
}

static void test_numbers(void)
{
    char cell[RKC_CELL_MAX];
    is_str(rkc_text_seconds(1.5e9, 2, cell), "1.50", "nanoseconds are shown as seconds");
    is_str(rkc_text_seconds(0, 2, cell), "0.00", "nothing is 0");
    is_str(rkc_text_seconds(1e6, 2, cell), "<.01", "a little is not 0");
    is_str(rkc_text_seconds(-1, 2, cell), "-", "not measured is no number");
    is_str(rkc_text_seconds(NAN, 2, cell), "-", "nor is NaN");
    is_int(rkc_text_decimals(812.4e9), 2, "minutes need hundredths");
    is_int(rkc_text_decimals(0.05e9), 4, "a twentieth of a second tenths of ms");
    is_str(rkc_text_count(99999, cell), "99999", "five digits are shown whole");
    is_str(rkc_text_count(1234567, cell), "1.23M", "more of them by three");
    is_str(rkc_text_count(999999, cell), "1.00M", "rounding goes up a unit");
    is_str(rkc_text_size(8, cell), "8B", "a size in bytes");
    is_str(rkc_text_size(65536, cell), "64KiB", "powers of 1024 for sizes");
    is_str(rkc_text_size(1023.9 * 1024, cell), "1.00MiB", "and no 1024 KiB");
    is_str(rkc_text_volume(52428800, cell), "52.4MB", "powers of 1000 for volumes");
    is_str(rkc_text_percent(0.0912, cell), "9.1", "a fraction in percent");
    is_str(rkc_text_percent(0.00001, cell), "<.1", "not 0 where it is not");
    is_str(rkc_text_ratio(INFINITY, cell), "-", "an infinite ratio is none");
    is_str(rkc_text_rank(17, cell), "r17", "a rank");
    is_str(rkc_text_rank(-1, cell), "-", "no rank");
}

/* What rkc_text_wrap writes. */
static const char *wrap(const char *text, int indent, int columns)
{
    static char out[256];
    FILE *to = fmemopen(out, sizeof out, "w");
    rkc_text_wrap(to, text, indent, columns);
    fclose(to);
    return out;
}

int main(void)
{
    int has_utf8 = setlocale(LC_CTYPE, "C.UTF-8") || setlocale(LC_CTYPE, "en_US.UTF-8");
    ok(!has_utf8 || rkc_text_utf8(), "a UTF-8 locale is known as one");
    test_names(has_utf8);
    test_numbers();
    is_str(wrap("one two three", 2, 9), "one two\n  three\n", "text is broken at blanks");
    is_str(wrap("unbreakable", 2, 6), "unbreakable\n", "a long word stays whole");
    setlocale(LC_CTYPE, "C");
    ok(!rkc_text_utf8(), "the C locale is not UTF-8");
    return done_testing();
}
