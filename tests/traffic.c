/* traffic.c - bytes of the point-to-point and collective calls, known by hand; four ranks. */
#include "autoconf.h"

#include <mpi.h>
#include <stdio.h>

#include "counters.h"
#include "tap.h"

enum { RANKS = 4 };

static int me;

/* Make `calls` in a region and check what the call path of `function` has moved. */
#define MOVED(function, what, sent_, received_, ...)                              \
    do {                                                                          \
        char text[200];                                                           \
        rkc_begin(what);                                                          \
        __VA_ARGS__;                                                              \
        rkc_end(what);                                                            \
        struct counters moved = counters_of(what, function);                      \
        snprintf(text, sizeof text, "%s, %s: bytes sent", function, what);        \
        is_int(moved.sent, sent_, text);                                          \
        snprintf(text, sizeof text, "%s, %s: bytes received", function, what);    \
        is_int(moved.received, received_, text);                                  \
    } while (0)

/* A datatype of two doubles 64 bytes apart: 16 bytes, an extent of 72. */
static MPI_Datatype gapped(void)
{
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void test_point_to_point(void)
{
    int right = (me + 1) % RANKS, left = (me + RANKS - 1) % RANKS;
    double out[64] = {0}, in[64] = {0};
    MPI_Status status;
    MPI_Datatype type = gapped();
    MPI_Request request;

    MOVED("MPI_Send", "three of a datatype with gaps", 48, 0, {
        MPI_Irecv(in, 3, type, left, 0, MPI_COMM_WORLD, &request);
        MPI_Send(out, 3, type, right, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    MOVED("MPI_Send", "to MPI_PROC_NULL", 0, 0,
          MPI_Send(out, 3, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    is_int(counters_of("to MPI_PROC_NULL", "MPI_Send").size[0], 1, "it is an empty operation");
    MOVED("MPI_Recv", "from MPI_PROC_NULL", 0, 0,
          MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MOVED("MPI_Recv", "shorter than its buffer", 0, 28, {
        MPI_Isend(out, 7, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    is_int(counters_of("shorter than its buffer", "MPI_Recv").size[5], 1,
           "28 bytes are counted from 16 to 31");
    MOVED("MPI_Sendrecv", "8 bytes for 8", 8, 8,
          MPI_Sendrecv(out, 1, MPI_DOUBLE, right, 2, in, 9, MPI_DOUBLE, left, 2, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    MOVED("MPI_Sendrecv", "to the right, from MPI_PROC_NULL", 16, 0, {
        MPI_Irecv(in, 2, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &request);
        MPI_Sendrecv(out, 2, MPI_DOUBLE, right, 3, in + 2, 2, MPI_DOUBLE, MPI_PROC_NULL, 3,
                     MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    MOVED("MPI_Sendrecv_replace", "64 bytes", 64, 64,
          MPI_Sendrecv_replace(out, 8, MPI_DOUBLE, right, 4, left, 4, MPI_COMM_WORLD, &status));
    MPI_Type_free(&type);
}

/* Of one call path, the first of a middle size. */
static void test_sizes(void)
{
    static char out[1 << 20], in[1 << 20];
    const int bytes[] = {64, 0, 1, 8, 64, 1 << 9, 1 << 10, 1 << 20, 0, 1 << 20};
    const int64_t n[][2] = {{0, 2}, {1, 1}, {4, 1}, {7, 2}, {10, 1}, {11, 1}, {21, 2}};
    int wrong = 0;
    rkc_begin("many sizes");
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        MPI_Sendrecv(out, bytes[i], MPI_CHAR, me, 5, in, bytes[i], MPI_CHAR, me, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    rkc_end("many sizes");
    struct counters counters = counters_of("many sizes", "MPI_Sendrecv");
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        wrong += counters.size[n[i][0]] != n[i][1];
    is_int(wrong, 0, "operations of sizes far from each other are counted by size");
    is_int(counters.sizes, 10, "each once");
}

static void test_failed(void)
{
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MOVED("MPI_Send", "to a rank that is not there", 0, 0,
          MPI_Send(&value, 1, MPI_INT, RANKS + 5, 0, MPI_COMM_WORLD));
    is_int(counters_of("to a rank that is not there", "MPI_Send").sizes, 0,
           "a failed call is no entry in the histogram");
    MOVED("MPI_Bcast", "of MPI_DATATYPE_NULL", 0, 0,
          MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void test_rooted(void)
{
    int root = 2, leaf = me != root;
    int in[16] = {0}, out[16] = {0}, counts[RANKS] = {1, 2, 3, 4}, at[RANKS] = {0, 1, 3, 6};
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype none = MPI_DATATYPE_NULL;

    MOVED("MPI_Bcast", "12 bytes from a root", leaf ? 0 : 12, leaf ? 12 : 0,
          MPI_Bcast(in, 3, MPI_INT, root, comm));
    MOVED("MPI_Reduce", "12 bytes to a root", 12, leaf ? 0 : 12,
          MPI_Reduce(out, leaf ? NULL : in, 3, MPI_INT, MPI_SUM, root, comm));
    MOVED("MPI_Gather", "insignificant arguments", 8, leaf ? 0 : 32,
          MPI_Gather(out, 2, MPI_INT, leaf ? NULL : in, leaf ? -1 : 2, leaf ? none : MPI_INT,
                     root, comm));
    MOVED("MPI_Gather", "in place", leaf ? 8 : 0, leaf ? 0 : 32,
          MPI_Gather(leaf ? out : MPI_IN_PLACE, leaf ? 2 : 0, leaf ? MPI_INT : none, in, 2,
                     MPI_INT, root, comm));
    MOVED("MPI_Gatherv", "1 to 4 numbers", 4 * (me + 1), leaf ? 0 : 40,
          MPI_Gatherv(out, me + 1, MPI_INT, in, leaf ? NULL : counts, leaf ? NULL : at,
                      leaf ? none : MPI_INT, root, comm));
    MOVED("MPI_Scatter", "in place", leaf ? 0 : 32, leaf ? 8 : 0,
          MPI_Scatter(out, 2, leaf ? none : MPI_INT, leaf ? in : MPI_IN_PLACE, leaf ? 2 : 0,
                      leaf ? MPI_INT : none, root, comm));
    MOVED("MPI_Scatterv", "1 to 4 numbers", leaf ? 0 : 40, 4 * (me + 1),
          MPI_Scatterv(out, leaf ? NULL : counts, leaf ? NULL : at, leaf ? none : MPI_INT, in,
                       me + 1, MPI_INT, root, comm));
}

static void test_all(void)
{
    int in[64] = {0}, out[64] = {0}, counts[RANKS] = {1, 2, 3, 4}, at[RANKS] = {0, 1, 3, 6};
    int same[RANKS] = {2, 2, 2, 2}, at2[RANKS] = {0, 2, 4, 6}, bytes[RANKS] = {0, 16, 32, 48};
    MPI_Datatype types[RANKS] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    MPI_Datatype mine[RANKS] = {types[me], types[me], types[me], types[me]};
    const int size[RANKS] = {1, 2, 4, 8};
    MPI_Comm comm = MPI_COMM_WORLD;

    MOVED("MPI_Allreduce", "12 bytes", 12, 12,
          MPI_Allreduce(out, in, 3, MPI_INT, MPI_SUM, comm));
    is_int(counters_of("12 bytes", "MPI_Allreduce").size[4], 1,
           "12 bytes both ways are one entry, from 8 to 15");
    MOVED("MPI_Scan", "12 bytes", 12, 12, MPI_Scan(out, in, 3, MPI_INT, MPI_SUM, comm));
    MOVED("MPI_Exscan", "12 bytes", 12, me == 0 ? 0 : 12,
          MPI_Exscan(out, in, 3, MPI_INT, MPI_SUM, comm));
    MOVED("MPI_Allgather", "8 bytes each", 8, 32,
          MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm));
    MOVED("MPI_Allgather", "in place", 8, 32,
          MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, comm));
    MOVED("MPI_Allgatherv", "in place, 1 to 4", 4 * (me + 1), 40,
          MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, at, MPI_INT, comm));
    MOVED("MPI_Alltoall", "8 bytes each", 32, 32,
          MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm));
    MOVED("MPI_Alltoall", "in place", 32, 32,
          MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, comm));
    int own[RANKS] = {me + 1, me + 1, me + 1, me + 1}, at4[RANKS] = {0, 4, 8, 12};
    MOVED("MPI_Alltoallv", "1 to 4 numbers", 40, 16 * (me + 1),
          MPI_Alltoallv(out, counts, at, MPI_INT, in, own, at4, MPI_INT, comm));
    MOVED("MPI_Alltoallv", "in place", 32, 32,
          MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, same, at2, MPI_INT,
                        comm));
    MOVED("MPI_Alltoallw", "four datatypes", 2 * (1 + 2 + 4 + 8), 4 * 2 * size[me],
          MPI_Alltoallw(out, same, bytes, types, in, same, bytes, mine, comm));
    MOVED("MPI_Reduce_scatter", "1 to 4 numbers", 40, 4 * (me + 1),
          MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm));
    MOVED("MPI_Reduce_scatter_block", "2 numbers", 32, 8,
          MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, comm));
    MOVED("MPI_Barrier", "of all", 0, 0, MPI_Barrier(comm));
    is_int(counters_of("of all", "MPI_Barrier").sizes, 0, "a barrier is no entry");
}

/* Ranks 0 and 1 on one side, 2 and 3 on the other; rank 1 is the root. */
static void test_two_groups(void)
{
    MPI_Comm local, inter;
    int low = me < 2, in[16] = {0}, out[16] = {0};
    MPI_Comm_split(MPI_COMM_WORLD, low, me, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? 2 : 0, 5, &inter);
    int root = !low ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Datatype type = root == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT;

    MOVED("MPI_Bcast", "between groups", me == 1 ? 12 : 0, low ? 0 : 12,
          MPI_Bcast(in, 3, MPI_INT, root, inter));
    MOVED("MPI_Reduce", "between groups", low ? 0 : 12, me == 1 ? 12 : 0,
          MPI_Reduce(out, in, 3, MPI_INT, MPI_SUM, root, inter));
    MOVED("MPI_Gather", "between groups", low ? 0 : 8, me == 1 ? 16 : 0,
          MPI_Gather(out, 2, low ? MPI_DATATYPE_NULL : MPI_INT, in, 2, low ? type : MPI_INT, root,
                     inter));
    MOVED("MPI_Scatter", "between groups", me == 1 ? 16 : 0, low ? 0 : 8,
          MPI_Scatter(out, 2, low ? type : MPI_INT, in, 2, low ? MPI_DATATYPE_NULL : MPI_INT,
                      root, inter));
    MOVED("MPI_Allgather", "between groups", low ? 4 : 8, low ? 16 : 8,
          MPI_Allgather(out, low ? 1 : 2, MPI_INT, in, low ? 2 : 1, MPI_INT, inter));
    MOVED("MPI_Alltoall", "between groups", 16, 16,
          MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/* A row of four without a ring: the ends have one neighbour each. */
static void test_neighbors(void)
{
    int sizes[1] = {RANKS}, ring[1] = {0}, in[16] = {0}, out[16] = {0}, rank;
    int beside;
    MPI_Comm row, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, ring, 0, &row);
    MPI_Comm_rank(row, &rank);
    beside = rank == 0 || rank == RANKS - 1 ? 1 : 2;
    MOVED("MPI_Neighbor_allgather", "a row", 8, 8 * beside,
          MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, row));
    MOVED("MPI_Neighbor_alltoall", "a row", 8 * beside, 8 * beside,
          MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, row));
    MPI_Comm_free(&row);

    /* Rank 0 sends to the three others; nobody else sends. */
    int from = 0, to[3] = {1, 2, 3};
    int counts[3] = {1, 2, 3}, at[3] = {0, 1, 3}, weights[3] = {1, 1, 1}, count = me;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me ? 1 : 0, &from, weights, me ? 0 : 3, to,
                                   weights, MPI_INFO_NULL, 0, &graph);
    MOVED("MPI_Neighbor_allgather", "from one to three", me ? 0 : 4, me ? 4 : 0,
          MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, graph));
    MOVED("MPI_Neighbor_alltoallv", "from one to three", me ? 0 : 24, 4 * me,
          MPI_Neighbor_alltoallv(out, counts, at, MPI_INT, in, &count, at, MPI_INT, graph));
    MPI_Comm_free(&graph);
}

/* More bytes than an int can count, all of them the same one. */
static void test_large(void)
{
    MPI_Datatype row, all;
    static char byte;
    MPI_Type_create_hvector(1 << 20, 1, 0, MPI_BYTE, &row);
    MPI_Type_create_hvector(1 << 12, 1, 0, row, &all);
    MPI_Type_commit(&all);
    MOVED("MPI_Bcast", "4 GiB", INT64_C(1) << 32, 0,
          MPI_Bcast(&byte, 1, all, 0, MPI_COMM_SELF));
    is_int(counters_of("4 GiB", "MPI_Bcast").size[33], 1, "4 GiB are counted from 2^32 on");
    MPI_Type_free(&row);
    MPI_Type_free(&all);
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (me != 0)
        tap_silence();
    is_int(ranks, RANKS, "the test runs on four ranks");
    test_point_to_point();
    test_sizes();
    test_failed();
    test_rooted();
    test_all();
    test_two_groups();
    test_neighbors();
    test_large();
    counters_end();
    return done_testing();
}
