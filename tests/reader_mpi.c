/* reader_mpi.c - what a reader makes of /mpi in files of each schema, and of damaged ones. */
/* LIMIT 120 */
#include "autoconf.h"

#include "golden.h"

static int add_pair(void *context, const struct rkc_reader_pair *pair)
{
    int64_t *sums = context;
    sums[0] += pair->messages;
    sums[1] += pair->bytes;
    return 0;
}

/* Made by make_file --gpu from a run of 4 ranks and 12 call paths; see synthetic.h. */
static void test_golden(void)
{
    struct rkc_reader *reader;
    char text[512];
    int status = rkc_reader_open(with_mpi, &reader, text, sizeof text);
    if (!tap_ok(status == 0, "the file of schema 1.2 is read", __FILE__, __LINE__, "%s", text))
        return;
    size_t n;
    const struct rkc_reader_transfer *transfers = rkc_reader_transfers(reader, &n);
    ok(n == 4 && strcmp(transfers[2].send_kind, "device") == 0 && transfers[2].send_device == 0 &&
           transfers[2].bytes_sent == INT64_C(400) * 65536, "with its kinds of memory");
    const struct rkc_reader_wait *waits = rkc_reader_waits(reader, &n);
    ok(n == 2 && waits[1].wait_ns == 180000000 && waits[1].awaited_rank == 0,
       "and its waits: 3 ranks of 61 ms for one of 1 ms");
    int64_t sums[2] = {0, 0};
    is_int((int64_t)rkc_reader_n_matrix(reader), 8, "and its matrix");
    is_int(rkc_reader_matrix(reader, add_pair, sums), 0, "which is read");
    ok(sums[0] == 800 && sums[1] == INT64_C(800) * 65536, "to the last message");
    rkc_reader_close(reader);

    if (rkc_reader_open(with_gpu, &reader, text, sizeof text))
        exit(1);
    transfers = rkc_reader_transfers(reader, &n);
    ok(n == 3 && strcmp(transfers[0].send_kind, "unknown") == 0 &&
           transfers[0].send_device == -1 && transfers[0].noncontiguous == RKC_READER_ABSENT,
       "in a file of schema 1.1 kinds are unknown");
    rkc_reader_waits(reader, &n);
    ok(n == 0 && rkc_reader_n_matrix(reader) == 0 && !rkc_reader_matrix(reader, add_pair, sums),
       "and there is neither a wait nor a matrix");
    rkc_reader_close(reader);
}

static void wait_nowhere(hid_t file) { set_cell(file, "mpi/waits/callpath", 0, 12); }
static void wait_of_none(hid_t file) { set_cell(file, "mpi/waits/ranks", 1, 0); }
static void wait_for_none(hid_t file) { set_cell(file, "mpi/waits/awaited_rank", 0, 4); }
static void wait_first_high(hid_t file) { set_cell(file, "mpi/waits/comm_first", 0, -1); }
static void wait_back(hid_t file) { set_cell(file, "mpi/waits/most_ns", 1, 0); }
static void no_sync(hid_t file) { H5Ldelete(file, "mpi/waits/sync_ns", H5P_DEFAULT); }
static void device_large(hid_t file) { set_cell(file, "mpi/transfers/recv_device", 3, INT64_MAX); }
static void no_bytes(hid_t file) { H5Ldelete(file, "mpi/matrix/bytes", H5P_DEFAULT); }

static void matrix_short(hid_t file)
{
    hsize_t n = 7;
    replace(file, "mpi/matrix/target", H5T_STD_I64LE, 1, &n, H5P_DEFAULT, NULL);
}

static void kinds_short(hid_t file)
{
    hsize_t n = 3;
    replace(file, "mpi/transfers/send_device", H5T_STD_I64LE, 1, &n, H5P_DEFAULT, NULL);
}

/* These are found when the matrix is read. */
static void source_high(hid_t file) { set_cell(file, "mpi/matrix/source", 7, 4); }
static void target_low(hid_t file) { set_cell(file, "mpi/matrix/target", 0, -2); }
static void both_others(hid_t file)
{
    set_cell(file, "mpi/matrix/source", 3, -1);
    set_cell(file, "mpi/matrix/target", 3, -1);
}
static void messages_low(hid_t file) { set_cell(file, "mpi/matrix/messages", 0, -1); }

static void test_hostile(void)
{
    static const struct {
        void (*change)(hid_t);
        const char *line, *what;
    } cases[] = {
        {wait_nowhere, "/mpi/waits, row 0", "waiting on no call path"},
        {wait_of_none, "/mpi/waits, row 1", "by no rank"},
        {wait_for_none, "/mpi/waits, row 0", "for a rank that is none"},
        {wait_first_high, "/mpi/waits, row 0", "on a communicator of such"},
        {wait_back, "/mpi/waits, row 1", "for a time that is none"},
        {no_sync, "/mpi/waits/sync_ns is missing", "waits without a column"},
        {device_large, "/mpi/transfers, row 3", "a device beyond 32 bits"},
        {kinds_short, "/mpi/transfers/send_device", "fewer devices than transfers"},
        {no_bytes, "/mpi/matrix/bytes is missing", "a matrix without a column"},
        {matrix_short, "/mpi/matrix/target", "one whose columns have two lengths"},
    };
    static void (*const late[])(hid_t) = {source_high, target_low, both_others, messages_low};
    load_file(with_mpi);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change_copy(cases[i].change);
        is_refused(copy, RKC_EFORMAT, cases[i].line, cases[i].what);
    }
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        struct rkc_reader *reader;
        int64_t sums[2] = {0, 0};
        change_copy(late[i]);
        if (rkc_reader_open(copy, &reader, NULL, 0))
            exit(1);
        is_int(rkc_reader_matrix(reader, add_pair, sums), RKC_EFORMAT,
               "a pair of ranks that is none is found when it is read");
        rkc_reader_close(reader);
    }
}

int main(void)
{
    if (begin_golden()) {
        test_golden();
        test_hostile();
    }
    end_golden();
    return done_testing();
}
