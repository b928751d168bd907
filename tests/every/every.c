/* every.c - run the programs, and compare what they say with what the process has recorded.
 *
 * What one gets wrong here: whatever this file asks MPI between the beginning of a region and its
 * end would be counted in it, so that it is asked by PMPI_X, and nothing is looked at before the
 * region has ended. */
#include "autoconf.h"

#include "../beside.h"
#include "../counters.h"
#include "../tap.h"

#include <dirent.h>
#include <unistd.h>

#include "every.h"

enum { ROWS_MAX = 128, FUNCTIONS_MAX = 512 };

int me, left, right;
const MPI_Comm world = MPI_COMM_WORLD;
char *every_command;

/* What the running program says. */
struct row {
    const char *function;
    int64_t calls, sent, received, completed;
    int64_t size[RKC_SIZE_BUCKETS];
};

struct messages {
    int64_t n, bytes;
};

static struct {
    const char *program;
    struct row row[ROWS_MAX];
    int n_rows;
    struct messages message[2][RANKS + 1]; /* to, and fetched from */
} said;

static struct messages seen[2][RANKS + 1];

/* All functions that were called, on this rank. */
static const char *called[FUNCTIONS_MAX];
static int n_called;

int every_is(const char *library)
{
    return strncmp(RKC_MPI_LIBRARY, library, strlen(library)) == 0;
}

/* ---- what a program says ---- */

static struct row *row_of(const char *function)
{
    for (int i = 0; i < said.n_rows; i++)
        if (strcmp(said.row[i].function, function) == 0)
            return &said.row[i];
    if (said.n_rows == ROWS_MAX)
        abort();
    said.row[said.n_rows] = (struct row){.function = function};
    return &said.row[said.n_rows++];
}

static const char *about(const char *what)
{
    static char text[400];
    snprintf(text, sizeof text, "%s: %s", said.program, what);
    return text;
}

void every_check(int truth, const char *what)
{
    if (!truth)
        ok(0, about(what));
}

static int was_called(const char *function)
{
    for (int i = 0; i < n_called; i++)
        if (strcmp(called[i], function) == 0)
            return 1;
    return 0;
}

void every_called(const char *function, int rc, int refused)
{
    row_of(function)->calls++;
    if (!was_called(function) && n_called < FUNCTIONS_MAX)
        called[n_called++] = function;
    if (refused != (rc != MPI_SUCCESS)) {
        char text[MPI_MAX_ERROR_STRING] = "", what[100];
        int length;
        PMPI_Error_string(rc, text, &length);
        snprintf(what, sizeof what, "%s %s", function, refused ? "is refused" : "succeeds");
        ok(0, about(what));
        fprintf(stderr, "# rank %d, %s: %s: %s\n", me, said.program, function, text);
    }
}

void every_moved(const char *function, int64_t sent, int64_t received)
{
    struct row *row = row_of(function);
    row->sent += sent;
    row->received += received;
    row->size[rkc_size_bucket((uint64_t)(sent > received ? sent : received))]++;
}

void every_completed(const char *function, int n)
{
    row_of(function)->completed += n;
}

void every_message(int other, int fetched, int64_t bytes)
{
    said.message[fetched][other].n++;
    said.message[fetched][other].bytes += bytes;
}

/* ---- what was recorded ---- */

static int is_said(const char *function)
{
    for (int i = 0; i < said.n_rows; i++)
        if (strcmp(said.row[i].function, function) == 0)
            return 1;
    return 0;
}

/* Whether a call of MPI's is below the program's region; *direct if with nothing between. */
static int is_inside(const struct rkc_view *view, const struct rkc_node *node, int *direct)
{
    const struct rkc_region_block *region = rkc_image_at(view->base, node->region);
    *direct = 1;
    if (region->kind != RKC_REGION_MPI)
        return 0;
    for (uint32_t above = node->parent; above; *direct = 0) {
        if (strcmp(counters_name(view, above), said.program) == 0)
            return 1;
        above = ((const struct rkc_node *)rkc_image_at(view->base, above))->parent;
    }
    return 0;
}

/* A call path in the program's region that it says nothing of, or NULL. */
static const char *spurious(void)
{
    struct rkc_view view;
    int broken = 0, direct;
    rkc_private_fold(rkc_thread_own());
    rkc_view_own(&view, rkc_private_image());
    const struct rkc_block *block = NULL;
    while ((block = rkc_view_next(&view, block, &broken)) != NULL) {
        const struct rkc_nodes_block *nodes = (const void *)block;
        for (uint32_t i = 0; block->kind == RKC_BLOCK_NODES && i < block->count; i++) {
            const struct rkc_node *node = &nodes->node[i];
            const char *name = counters_name(&view, rkc_image_unit(view.base, node));
            if (is_inside(&view, node, &direct) && !(direct && is_said(name)))
                return name;
        }
    }
    return NULL;
}

/* Where sizes differ, the first such bucket; or -1. */
static int other_size(const struct row *row, const struct counters *got)
{
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        if (row->size[i] != got->size[i])
            return i;
    return -1;
}

static void check_row(const struct row *row)
{
    struct counters got = counters_of(said.program, row->function);
    int bucket = other_size(row, &got);
    int same = got.calls == row->calls && got.sent == row->sent && got.received == row->received &&
               got.completed == row->completed && bucket < 0;
    int times = row->completed ? got.in_flight > 0 && got.blocked <= got.in_flight
                               : got.in_flight == 0 && got.blocked == 0;
    tap_ok(same, about(row->function), __FILE__, __LINE__,
           "calls %d, sent %d, received %d, completed %d; want %d, %d, %d, %d; "
           "sizes differ in bucket %d: %d, want %d",
           (int)got.calls, (int)got.sent, (int)got.received, (int)got.completed, (int)row->calls,
           (int)row->sent, (int)row->received, (int)row->completed, bucket,
           bucket < 0 ? 0 : (int)got.size[bucket], bucket < 0 ? 0 : (int)row->size[bucket]);
    if (!times)
        tap_ok(0, about(row->function), __FILE__, __LINE__,
               "%d requests were %lld ticks in flight, %lld of them waited for",
               (int)row->completed, (long long)got.in_flight, (long long)got.blocked);
}

/* What all requests were waited for is no more than the time in the calls that can wait. */
static void check_blocked(void)
{
    static const char *const waiting[] = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
                                          "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"};
    int64_t blocked = 0, ticks = 0, completed = 0;
    for (int i = 0; i < said.n_rows; i++) {
        blocked += counters_of(said.program, said.row[i].function).blocked;
        completed += said.row[i].completed;
    }
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        ticks += counters_of(said.program, waiting[i]).ticks;
    if (completed)
        ok(blocked > 0 && blocked <= ticks, about("requests block for the time in waiting calls"));
}

static void check_messages(void)
{
    int same = beside_collect() == 0, n = 0;
    for (int way = 0; way < 2; way++) {
        for (int other = 0; other <= RANKS; other++) {
            int rank = other == OTHER_WORLD ? -1 : other;
            int64_t bytes, all = beside_messages(way ? rank : me, way ? me : rank, &bytes);
            struct messages now = {all < 0 ? 0 : all, all < 0 ? 0 : bytes};
            struct messages *was = &seen[way][other], *want = &said.message[way][other];
            if (way && other == me) /* one cell with those that it sends to itself */
                continue;
            if (!way && other == me) {
                want->n += said.message[1][me].n;
                want->bytes += said.message[1][me].bytes;
            }
            n += want->n > 0;
            if (now.n - was->n != want->n || now.bytes - was->bytes != want->bytes) {
                same = 0;
                fprintf(stderr,
                        "# rank %d, %s: %s rank %d %d messages of %d bytes, want %d of %d\n", me,
                        said.program, way ? "fetched from" : "to", other, (int)(now.n - was->n),
                        (int)(now.bytes - was->bytes), (int)want->n, (int)want->bytes);
            }
            *was = now;
        }
    }
    ok(same, about(n ? "messages by rank" : "no messages by rank"));
}

/* ---- the run ---- */

static void run(const struct every_program *program)
{
    memset(&said, 0, sizeof said);
    said.program = program->name;
    PMPI_Barrier(MPI_COMM_WORLD);
    rkc_begin(program->name);
    program->run();
    rkc_end(program->name);
    for (int i = 0; i < said.n_rows; i++)
        check_row(&said.row[i]);
    check_blocked();
    is_str(spurious(), NULL, about("no other MPI function was counted"));
    check_messages();
}

/* How MPI began, before any region. */
static void check_beginning(const char *beginning)
{
    is_int(counters_of(NULL, beginning).calls, 1, beginning);
    if (n_called < FUNCTIONS_MAX)
        called[n_called++] = beginning;
}

static const struct every_excuse *excuse_of(const struct every_excuse *excuses,
                                            const char *function)
{
    for (; excuses->function; excuses++)
        if (strcmp(excuses->function, function) == 0)
            return excuses;
    return NULL;
}

/* Each function of a file of rows was called on some rank, or there is a reason. */
static void check_rows(const char *const *rows, const struct every_excuse *excuses)
{
    for (; *rows; rows++) {
        char text[400];
        int here = was_called(*rows), anywhere = 0;
        const struct every_excuse *excuse = excuse_of(excuses, *rows);
        PMPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (excuse)
            snprintf(text, sizeof text, "%s is not called: %s", *rows, excuse->why);
        else
            snprintf(text, sizeof text, "%s is called", *rows);
        ok(anywhere == !excuse, text);
    }
}

/* ---- files ---- */

static char folder[200];

const char *every_folder(void)
{
    return folder;
}

static void make_folder(void)
{
    const char *where = getenv("TMPDIR");
    if (me == 0) {
        snprintf(folder, sizeof folder, "%s/every.XXXXXX", where && *where ? where : "/tmp");
        if (!mkdtemp(folder))
            folder[0] = '\0';
    }
    PMPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    ok(folder[0] != '\0', "there is a folder for files");
}

/* With what MPI left in it: Open MPI keeps locks beside a file. */
static void remove_folder(void)
{
    char name[600];
    DIR *list = me == 0 ? opendir(folder) : NULL;
    PMPI_Barrier(MPI_COMM_WORLD);
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        unlink(name);
    }
    closedir(list);
    rmdir(folder);
}

void every_end(void)
{
    counters_end();
}

int every_main(char **argv, const char *beginning, const struct every_program *const *programs,
               const char *const *rows, const struct every_excuse *excuses)
{
    int ranks;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = (me + 1) % RANKS;
    left = (me + RANKS - 1) % RANKS;
    const char *only = argv[1];
    every_command = argv[0];
    if (me != 0)
        tap_silence();
    if (!is_int(ranks, RANKS, "the programs run on four ranks"))
        PMPI_Abort(MPI_COMM_WORLD, 1);
    check_beginning(beginning);
    make_folder();
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    beside_collect();
    for (; *programs; programs++)
        for (const struct every_program *program = *programs; program->name; program++)
            if (!only || strcmp(only, program->name) == 0)
                run(program);
    if (!only)
        check_rows(rows, excuses);
    remove_folder();
    every_end();
    return done_testing();
}
