/* report_bytes.c - what counts as bytes, call by call, from the very tables that the wrappers are
 * made of: the text cannot say what the library does not do. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <string.h>

enum { INDENT = 16, TEXT_MAX = 4096 };

static const char *const rules[] = {
#define RULE(text) text,
#define WORD(word, sent, received)
#include "pmpi/words.def"
#undef RULE
#undef WORD
};

static const struct {
    const char *word, *sent, *received;
} words[] = {
#define RULE(text)
#define WORD(word, sent, received) {#word, sent, received},
#include "pmpi/words.def"
#undef RULE
#undef WORD
};

enum { RULES = sizeof rules / sizeof *rules, WORDS = sizeof words / sizeof *words };

/* Rows whose traffic is a text: the words in it are macros of the wrappers. */
static const struct {
    const char *name, *traffic;
} calls[] = {
#define CALL(name, parameters, arguments, traffic) {#name, #traffic},
#define CALL_C CALL
#define COLLECTIVE CALL
#define COLLECTIVE_C CALL
#define CALL_BY_HAND(name)
#include "pmpi/mpi_calls.def"
#undef CALL
#undef CALL_C
#undef COLLECTIVE
#undef COLLECTIVE_C
#undef CALL_BY_HAND
};

/* The word of a row: "POSTS(request, SENDS(buf, ...))" is of SENDS, as "GATHERS_V" is of GATHERS.
 * WORDS if there is none. */
static size_t word_of(const char *traffic)
{
    const char *at = strchr(traffic, '(');
    if (!at)
        return WORDS;
    if (strncmp(traffic, "MOVES", 5) != 0)
        at = strchr(at, ',');
    for (at = at ? at + 1 : ""; *at == ' ';)
        at++;
    size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    for (size_t i = 0; i < WORDS; i++) {
        size_t own = strlen(words[i].word);
        int is_form =
            length == own + 2 && at[own] == '_' && (at[own + 1] == 'V' || at[own + 1] == 'W');
        if (strncmp(at, words[i].word, own) == 0 && (length == own || is_form))
            return i;
    }
    return WORDS;
}

/* Whether two words are of the same bytes, so that their functions stand together. */
static int is_same(size_t a, size_t b)
{
    return strcmp(words[a].sent, words[b].sent) == 0 &&
           strcmp(words[a].received, words[b].received) == 0;
}

/* "Send, Bsend, ...: " of all words that are like this one. */
static size_t list_calls(size_t word, char text[TEXT_MAX])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t own = word_of(calls[i].traffic);
        if (own < WORDS && is_same(own, word) && used + strlen(calls[i].name) + 3 < TEXT_MAX)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%s", used ? ", " : "",
                                     calls[i].name);
    }
    return used;
}

void rkc_report_explain_bytes(const struct rkc_page *page)
{
    char text[TEXT_MAX];
    fputs("\nBYTES of each call\n", page->out);
    for (size_t i = 0; i < RULES; i++) {
        fputs("  ", page->out);
        rkc_text_wrap(page->out, rules[i], 2, page->columns);
    }
    for (size_t i = 0; i < WORDS; i++) {
        size_t first = 0;
        while (!is_same(first, i))
            first++;
        if (first < i || list_calls(i, text) == 0)
            continue;
        fprintf(page->out, "  sent: %s; received: %s\n%*s", words[i].sent, words[i].received,
                INDENT, "");
        rkc_text_wrap(page->out, text, INDENT, page->columns);
    }
    fprintf(page->out, "  %-*s", INDENT - 2, "all others");
    rkc_text_wrap(page->out,
                  "nothing: they are timed and counted. Large-count forms (..._c) count as the "
                  "functions that they are forms of.",
                  INDENT, page->columns);
}
