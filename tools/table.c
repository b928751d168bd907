/* table.c - widths are found when all cells are there: a column is as wide as its widest cell. */
#include "autoconf.h"

#include "table.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

void rkc_table_init(struct rkc_table *table, const struct rkc_table_column *columns,
                    size_t n_columns)
{
    *table = (struct rkc_table){.columns = columns, .n_columns = n_columns};
}

void rkc_table_free(struct rkc_table *table)
{
    free(table->text);
    free(table->cells);
}

/* Make room for `need` more elements. */
static int grow(void **array, size_t size, size_t used, size_t *room, size_t need)
{
    if (used + need <= *room)
        return 1;
    size_t more = 2 * *room + need + 64;
    void *larger = realloc(*array, more * size);
    if (!larger)
        return 0;
    *array = larger;
    *room = more;
    return 1;
}

void rkc_table_add(struct rkc_table *table, const char *text, int utf8)
{
    char clean[RKC_NAME_CELL];
    rkc_text_clean(text, utf8, clean, sizeof clean);
    size_t size = strlen(clean) + 1;
    void *bytes = table->text, *cells = table->cells;
    table->failed |= !grow(&bytes, 1, table->text_size, &table->text_room, size);
    table->text = bytes;
    table->failed |= !grow(&cells, sizeof *table->cells, table->n_cells, &table->cells_room, 1);
    table->cells = cells;
    if (table->failed)
        return;
    memcpy(table->text + table->text_size, clean, size);
    table->cells[table->n_cells++] = table->text_size;
    table->text_size += size;
}

void rkc_table_add_line(struct rkc_table *table, const char *text)
{
    table->line_at = table->n_cells / table->n_columns;
    snprintf(table->line, sizeof table->line, "%s", text);
}

static const char *cell(const struct rkc_table *table, size_t row, size_t column)
{
    return table->text + table->cells[row * table->n_columns + column];
}

/* Columns of each; 0: left out. */
struct layout {
    int wide[RKC_TABLE_COLUMNS];
    int gap;
};

static void measure(const struct rkc_table *table, struct layout *layout)
{
    size_t rows = table->n_cells / table->n_columns;
    for (size_t k = 0; k < table->n_columns; k++) {
        int is_empty = table->columns[k].may_be_empty;
        layout->wide[k] = rkc_text_columns(table->columns[k].head);
        for (size_t i = 0; i < rows; i++) {
            const char *text = cell(table, i, k);
            int wide = rkc_text_columns(text);
            layout->wide[k] = wide > layout->wide[k] ? wide : layout->wide[k];
            is_empty = is_empty && strcmp(text, "-") == 0;
        }
        layout->wide[k] = is_empty ? 0 : layout->wide[k];
    }
}

/* What the names have to give up, or less than 0: room that is left. */
static int excess(const struct rkc_table *table, const struct layout *layout, int columns)
{
    int used = 0;
    for (size_t k = 0; k < table->n_columns; k++)
        used += layout->wide[k] ? layout->wide[k] + (used ? layout->gap : 0) : 0;
    return used - columns;
}

/* Whether the names have at least what they need when they give up that much. */
static int fits(const struct rkc_table *table, const struct layout *layout, int columns)
{
    int spare = 0;
    for (size_t k = 0; k < table->n_columns; k++) {
        int more = layout->wide[k] - table->columns[k].least;
        spare += table->columns[k].is_name && more > 0 ? more : 0;
    }
    return excess(table, layout, columns) <= spare;
}

/* Leave out the column that is needed least. 0 if all are needed. */
static int leave_out(const struct rkc_table *table, struct layout *layout)
{
    size_t which = 0;
    int most = 0;
    for (size_t k = 0; k < table->n_columns; k++)
        if (layout->wide[k] && table->columns[k].left_out > most) {
            most = table->columns[k].left_out;
            which = k;
        }
    if (most > 0)
        layout->wide[which] = 0;
    return most > 0;
}

/* The longest name that can give something up, beyond what it needs or not; n_columns: none. */
static size_t longest_name(const struct rkc_table *table, const struct layout *layout, int needed)
{
    size_t longest = table->n_columns;
    for (size_t k = 0; k < table->n_columns; k++)
        if (table->columns[k].is_name && layout->wide[k] > (needed ? 1 : table->columns[k].least) &&
            (longest == table->n_columns || layout->wide[k] > layout->wide[longest]))
            longest = k;
    return longest;
}

/* Shorten the names, the longest first, or give the room that is left to those that fill. */
static void share_room(const struct rkc_table *table, struct layout *layout, int columns)
{
    int over = excess(table, layout, columns);
    for (; over > 0; over--) {
        size_t longest = longest_name(table, layout, 0);
        if (longest == table->n_columns)
            longest = longest_name(table, layout, 1);
        if (longest == table->n_columns)
            return;
        layout->wide[longest]--;
    }
    for (size_t k = 0; k < table->n_columns; k++)
        if (table->columns[k].fills && layout->wide[k])
            layout->wide[k] -= over;
}

static void arrange(const struct rkc_table *table, int columns, struct layout *layout)
{
    measure(table, layout);
    for (;;) {
        layout->gap = 2;
        if (fits(table, layout, columns))
            break;
        layout->gap = 1;
        if (fits(table, layout, columns) || !leave_out(table, layout))
            break;
    }
    share_room(table, layout, columns);
}

static void print_row(const struct rkc_table *table, const struct layout *layout, FILE *out,
                      const char *const cells[], int utf8)
{
    int blanks = 0, is_first = 1; /* blanks are written before what follows them */
    for (size_t k = 0; k < table->n_columns; k++) {
        char text[RKC_NAME_CELL];
        if (!layout->wide[k])
            continue;
        rkc_text_fit(cells[k], layout->wide[k], utf8, text, sizeof text);
        int own = rkc_text_columns(text);
        int rest = layout->wide[k] > own ? layout->wide[k] - own : 0;
        blanks += is_first ? 0 : layout->gap;
        is_first = 0;
        if (own == 0) {
            blanks += rest;
            continue;
        }
        int is_name = table->columns[k].is_name;
        fprintf(out, "%*s%s", is_name ? blanks : blanks + rest, "", text);
        blanks = is_name ? rest : 0;
    }
    fputc('\n', out);
}

/* A head that has no room does with one blank between its words. */
static const char *head_of(const char *head, int wide, char *closed, size_t size)
{
    const char *blanks = strstr(head, "  ");
    if (!blanks || rkc_text_columns(head) <= wide)
        return head;
    snprintf(closed, size, "%.*s%s", (int)(blanks - head), head, blanks + 1);
    return closed;
}

void rkc_table_print(const struct rkc_table *table, FILE *out, int columns, int utf8)
{
    struct layout layout;
    const char *cells[RKC_TABLE_COLUMNS];
    char closed[RKC_TABLE_COLUMNS][RKC_CELL_MAX];
    if (table->failed)
        return;
    arrange(table, columns, &layout);
    for (size_t k = 0; k < table->n_columns; k++)
        cells[k] = head_of(table->columns[k].head, layout.wide[k], closed[k], sizeof closed[k]);
    print_row(table, &layout, out, cells, utf8);
    for (size_t i = 0; i < table->n_cells / table->n_columns; i++) {
        if (i == table->line_at && table->line[0])
            fprintf(out, "  %s\n", table->line);
        for (size_t k = 0; k < table->n_columns; k++)
            cells[k] = cell(table, i, k);
        print_row(table, &layout, out, cells, utf8);
    }
}

void rkc_table_share_lines(size_t lines, size_t *first, size_t *second)
{
    if (*first + *second <= lines)
        return;
    size_t half = lines / 2;
    size_t a = *first <= half ? *first : half;
    size_t b = *second <= lines - half ? *second : lines - half;
    if (a < half)
        b = lines - a;
    else if (b < lines - half)
        a = lines - b;
    *first = a < *first && a > 0 ? a - 1 : a;
    *second = b < *second && b > 0 ? b - 1 : b;
}
