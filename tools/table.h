/* table.h - rows of cells that become columns of a page: as wide as what is in them, and left out
 * in a given order where the page is too narrow for all.
 */
#ifndef RKC_TABLE_H
#define RKC_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { RKC_TABLE_COLUMNS = 20 };

struct rkc_table_column {
    const char *head;
    int is_name;      /* to the left, and shortened where there is no room; else to the right */
    int least;        /* of a name: columns below which others are left out rather */
    int left_out;     /* the higher, the sooner it is left out; 0: never */
    int fills;        /* takes what room is left */
    int may_be_empty; /* left out also where every row has "-" */
};

struct rkc_table {
    const struct rkc_table_column *columns;
    size_t n_columns;
    char *text; /* the cells, each with its NUL */
    size_t *cells;
    size_t n_cells, text_size, text_room, cells_room;
    int failed;
    size_t line_at; /* the line stands before this row; beyond the rows: after them */
    char line[64];
};

void rkc_table_init(struct rkc_table *table, const struct rkc_table_column *columns,
                    size_t n_columns);
void rkc_table_free(struct rkc_table *table);

/* The next cell, row by row. Names are cleaned. Without memory nothing is printed. */
void rkc_table_add(struct rkc_table *table, const char *text, int utf8);

/* A line of text between the rows. At most one. */
void rkc_table_add_line(struct rkc_table *table, const char *text);

/* Print it, with the heads above. Without rows, the heads alone. */
void rkc_table_print(const struct rkc_table *table, FILE *out, int columns, int utf8);

/* Split lines between two tables that would like to have `first` and `second` rows; a table that
 * is cut needs a line to say so. */
void rkc_table_share_lines(size_t lines, size_t *first, size_t *second);

#endif
