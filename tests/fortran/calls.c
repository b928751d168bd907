/* calls.c - MPI calls in groups, as calls.F90 makes them. On three ranks: calls GROUP... */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me, ranks, right, left;
static int in[16][64], out[16][64];

static void messages(void)
{
    static char space[16384];
    int n;
    void *detached;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Buffer_attach(space, 16384);
    MPI_Bsend(out, 1 + me, MPI_INT, right, 1, WORLD);
    MPI_Recv(in, 64, MPI_INT, left, 1, WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    MPI_Buffer_detach(&detached, &n);
    MPI_Irecv(in, 64, MPI_INT, left, 2, WORLD, &request);
    MPI_Barrier(WORLD);
    MPI_Rsend(out, 2, MPI_INT, right, 2, WORLD);
    MPI_Wait(&request, IGNORE);
    MPI_Irecv(in, 64, MPI_INT, left, 3, WORLD, &request);
    MPI_Ssend(out, 3, MPI_INT, right, 3, WORLD);
    MPI_Wait(&request, &status);
    MPI_Irecv(in, 64, MPI_INT, left, 4, WORLD, &request);
    MPI_Send(out, 8, MPI_INT, right, 4, WORLD);
    MPI_Wait(&request, IGNORE);
    MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 5, WORLD);
    MPI_Recv(in, 5, MPI_INT, MPI_PROC_NULL, 5, WORLD, IGNORE);
    MPI_Sendrecv(out, 6 + me, MPI_INT, right, 6, in, 64, MPI_INT, left, 6, WORLD, IGNORE);
    MPI_Sendrecv_replace(out, 7, MPI_INT, right, 7, left, 7, WORLD, &status);
    MPI_Isend(out, 9 + me, MPI_INT, right, 8, WORLD, &request);
    MPI_Mprobe(left, 8, WORLD, &message, &status);
    MPI_Mrecv(in, 64, MPI_INT, &message, IGNORE);
    MPI_Wait(&request, IGNORE);
    MPI_Isend(out, 10 + me, MPI_INT, right, 9, WORLD, &request);
    MPI_Probe(left, 9, WORLD, &status);
    MPI_Recv(in, 64, MPI_INT, left, 9, WORLD, IGNORE);
    MPI_Wait(&request, IGNORE);
}

static void requests(void)
{
    int n, done, at[8], flag;
    MPI_Request request[8];
    MPI_Message message;
    MPI_Status status, status8[8];
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(in[i], 64, MPI_INT, left, i, WORLD, &request[i]);
        MPI_Isend(out, i + 1 + me, MPI_INT, right, i, WORLD, &request[4 + i]);
    }
    MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
    MPI_Waitall(8, request, status8);
    MPI_Waitany(8, request, &n, &status);
    MPI_Wait(&request[0], IGNORE);

    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[2]);
    MPI_Issend(out, 11, MPI_INT, right, 1, WORLD, &request[5]);
    for (int i = 0; i < 2; i++)
        MPI_Waitany(8, request, &n, IGNORE);

    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[1]);
    MPI_Isend(out, 12, MPI_INT, right, 1, WORLD, &request[6]);
    for (int total = 0; total < 2; total += done)
        MPI_Testsome(8, request, &done, at, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[7]);
    MPI_Send(out, 13, MPI_INT, right, 1, WORLD);
    MPI_Waitsome(8, request, &done, at, status8);

    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[0]);
    MPI_Send(out, 14, MPI_INT, right, 1, WORLD);
    for (flag = 0; !flag;)
        MPI_Test(&request[0], &flag, IGNORE);
    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[4]);
    MPI_Send(out, 15, MPI_INT, right, 1, WORLD);
    for (flag = 0; !flag;)
        MPI_Testany(8, request, &n, &flag, &status);
    MPI_Irecv(in, 64, MPI_INT, left, 1, WORLD, &request[0]);
    MPI_Isend(out, 16, MPI_INT, right, 1, WORLD, &request[1]);
    for (flag = 0; !flag;)
        MPI_Testall(2, request, &flag, status8);

    MPI_Isend(out, 17, MPI_INT, right, 1, WORLD, &request[0]);
    MPI_Mprobe(left, 1, WORLD, &message, IGNORE);
    MPI_Imrecv(in, 64, MPI_INT, &message, &request[1]);
    MPI_Waitall(2, request, status8);

    MPI_Irecv(in, 64, MPI_INT, left, 99, WORLD, &request[0]);
    MPI_Cancel(&request[0]);
    MPI_Wait(&request[0], &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Isend(out, 18, MPI_INT, right, 1, WORLD, &request[0]);
    MPI_Recv(in, 64, MPI_INT, left, 1, WORLD, IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Barrier(WORLD);
}

static void persistent(void)
{
    int n;
    MPI_Request request[2];
    MPI_Status status2[2];
    MPI_Recv_init(in, 64, MPI_INT, left, 1, WORLD, &request[0]);
    MPI_Send_init(out, 3 + me, MPI_INT, right, 1, WORLD, &request[1]);
    MPI_Waitall(2, request, status2);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Pcontrol(0);
    MPI_Start(&request[0]);
    MPI_Start(&request[1]);
    MPI_Waitall(2, request, status2);
    MPI_Pcontrol(1);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request[0]);
        MPI_Start(&request[1]);
        MPI_Wait(&request[0], IGNORE);
        MPI_Waitany(2, request, &n, IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static const int counts[] = {1, 2, 3}, at[] = {0, 1, 3}, at4[] = {0, 4, 8};
static const int bytes[] = {0, 16, 32}, two[] = {2, 2, 2};

static void collective(void)
{
    const int own[] = {me + 1, me + 1, me + 1};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Datatype mine[] = {types[me], types[me], types[me]};
    MPI_Bcast(out, 3, MPI_INT, 1, WORLD);
    MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, 2, WORLD);
    MPI_Reduce(me == 2 ? MPI_IN_PLACE : out, me == 2 ? out : in, 5, MPI_INT, MPI_SUM, 2, WORLD);
    MPI_Allreduce(MPI_IN_PLACE, in, 6, MPI_INT, MPI_MAX, WORLD);
    MPI_Scan(out, in, 7, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(out, in, 8, MPI_INT, MPI_SUM, WORLD);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, 0, WORLD);
    MPI_Gather(me ? (void *)out : MPI_IN_PLACE, me ? 2 : 0, MPI_INT, in, 2, MPI_INT, 0, WORLD);
    MPI_Gatherv(out, me + 1, MPI_INT, in, counts, at, MPI_INT, 0, WORLD);
    MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, 1, WORLD);
    MPI_Scatter(in, 3, MPI_INT, me == 1 ? MPI_IN_PLACE : out, 3, MPI_INT, 1, WORLD);
    MPI_Scatterv(in, counts, at, MPI_INT, out, me + 1, MPI_INT, 0, WORLD);
    MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in, 3, MPI_INT, WORLD);
    MPI_Allgatherv(out, me + 1, MPI_INT, in, counts, at, MPI_INT, WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, in, counts, at, MPI_INT, WORLD);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, WORLD);
    MPI_Alltoallv(out, counts, at, MPI_INT, in, own, at4, MPI_INT, WORLD);
    MPI_Alltoallw(out, two, bytes, types, in, two, bytes, mine, WORLD);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, WORLD);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, WORLD);
    MPI_Reduce_local(out, in, 2, MPI_INT, MPI_SUM);
    MPI_Barrier(WORLD);
}

static void nonblocking(void)
{
    const int own[] = {me + 1, me + 1, me + 1};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Datatype mine[] = {types[me], types[me], types[me]};
    MPI_Request r[16];
    MPI_Comm comm;
    MPI_Ibcast(out[0], 3, MPI_INT, 1, WORLD, &r[0]);
    MPI_Ireduce(out[1], in[1], 4, MPI_INT, MPI_SUM, 2, WORLD, &r[1]);
    MPI_Iallreduce(MPI_IN_PLACE, in[2], 6, MPI_INT, MPI_MAX, WORLD, &r[2]);
    MPI_Iscan(out[3], in[3], 7, MPI_INT, MPI_SUM, WORLD, &r[3]);
    MPI_Iexscan(out[4], in[4], 8, MPI_INT, MPI_SUM, WORLD, &r[4]);
    MPI_Igather(out[5], 2, MPI_INT, in[5], 2, MPI_INT, 0, WORLD, &r[5]);
    MPI_Igatherv(out[6], me + 1, MPI_INT, in[6], counts, at, MPI_INT, 0, WORLD, &r[6]);
    MPI_Iscatter(out[7], 2, MPI_INT, in[7], 2, MPI_INT, 1, WORLD, &r[7]);
    MPI_Iscatterv(out[8], counts, at, MPI_INT, in[8], me + 1, MPI_INT, 0, WORLD, &r[8]);
    MPI_Iallgather(out[9], 2, MPI_INT, in[9], 2, MPI_INT, WORLD, &r[9]);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, in[10], counts, at, MPI_INT, WORLD, &r[10]);
    MPI_Ialltoall(out[11], 2, MPI_INT, in[11], 2, MPI_INT, WORLD, &r[11]);
    MPI_Ialltoallv(out[12], counts, at, MPI_INT, in[12], own, at4, MPI_INT, WORLD, &r[12]);
    MPI_Ialltoallw(out[13], two, bytes, types, in[13], two, bytes, mine, WORLD, &r[13]);
    MPI_Ireduce_scatter(out[14], in[14], counts, MPI_INT, MPI_SUM, WORLD, &r[14]);
    MPI_Ireduce_scatter_block(out[15], in[15], 2, MPI_INT, MPI_SUM, WORLD, &r[15]);
    MPI_Waitall(16, r, MPI_STATUSES_IGNORE);
    MPI_Ibarrier(WORLD, &r[0]);
    MPI_Comm_idup(WORLD, &comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm);
}

static void neighbors(void)
{
    const int two_each[] = {2, 2}, from[] = {0, 2};
    int ring = 0, before, after;
    MPI_Comm row;
    MPI_Request request;
    MPI_Cart_create(WORLD, 1, &ranks, &ring, 0, &row);
    MPI_Cart_shift(row, 0, 1, &before, &after);
    MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, row);
    MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, two_each, from, MPI_INT, row);
    MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, row);
    MPI_Neighbor_alltoallv(out, two_each, from, MPI_INT, in, two_each, from, MPI_INT, row);
    MPI_Ineighbor_allgather(out, 4, MPI_INT, in, 4, MPI_INT, row, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Comm_free(&row);
}

static void neighbors_w(void)
{
    const int two_each[] = {2, 2};
    const MPI_Aint where[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    int ring = 0;
    MPI_Comm row;
    MPI_Request request;
    MPI_Cart_create(WORLD, 1, &ranks, &ring, 0, &row);
    MPI_Neighbor_alltoallw(out, two_each, where, types, in, two_each, where, types, row);
    MPI_Ineighbor_alltoallw(out, two_each, where, types, in, two_each, where, types, row,
                            &request);
    MPI_Wait(&request, IGNORE);
    MPI_Comm_free(&row);
}

static void graphs(void)
{
    int n_in, n_out, weighted;
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &weighted);
    MPI_Neighbor_alltoall(out, 5, MPI_INT, in, 5, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(WORLD, 0, &left, MPI_WEIGHTS_EMPTY, 0, &right,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_free(&graph);
}

static void windows(void)
{
    static int memory[64];
    int one = 1, other = 0;
    void *allocated;
    MPI_Win window;
    MPI_Request request[2];
    MPI_Win_create(memory, 256, 4, MPI_INFO_NULL, WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 3, MPI_INT, right, 0, 3, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Get(in, 5, MPI_INT, right, 0, 5, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Accumulate(out, 6, MPI_INT, right, 0, 6, MPI_INT, MPI_SUM, window);
    MPI_Put(out, 7, MPI_INT, MPI_PROC_NULL, 0, 7, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&one, &other, MPI_INT, right, 0, MPI_SUM, window);
    MPI_Fetch_and_op(&one, &other, MPI_INT, right, 0, MPI_NO_OP, window);
    MPI_Compare_and_swap(&one, &other, in, MPI_INT, right, 0, window);
    MPI_Win_flush(right, window);
    MPI_Get_accumulate(out, 8, MPI_INT, in, 8, MPI_INT, right, 0, 8, MPI_INT, MPI_SUM, window);
    MPI_Get_accumulate(out, 0, MPI_INT, in, 9, MPI_INT, right, 0, 9, MPI_INT, MPI_NO_OP, window);
    MPI_Win_flush_all(window);
    MPI_Rput(out, 10, MPI_INT, right, 0, 10, MPI_INT, window, &request[0]);
    MPI_Rget(in, 11, MPI_INT, right, 0, 11, MPI_INT, window, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Raccumulate(out, 12, MPI_INT, right, 0, 12, MPI_INT, MPI_SUM, window, &request[0]);
    MPI_Wait(&request[0], IGNORE);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, WORLD, &allocated, &window);
    MPI_Win_free(&window);
    MPI_Alloc_mem(64, MPI_INFO_NULL, &allocated);
    MPI_Free_mem(allocated);
}

static void files(void)
{
    MPI_Offset here = 256 * me;
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_File_open(WORLD, "calls.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at(file, here, out, 3 + me, MPI_INT, IGNORE);
    MPI_File_read_at(file, here, in, 2, MPI_INT, &status);
    MPI_File_write_at_all(file, here, out, 16, MPI_INT, &status);
    MPI_File_iwrite_at(file, here, out, 5, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_sync(file);
    MPI_File_iread_at(file, here, in, 6, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_set_view(file, here, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, out, 7, MPI_INT, IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, in, 4, MPI_INT);
    MPI_File_read_all_end(file, in, IGNORE);
    MPI_File_close(&file);
}

static void texts(void)
{
    char text[MPI_MAX_ERROR_STRING + MPI_MAX_OBJECT_NAME + MPI_MAX_PROCESSOR_NAME], packed[64];
    int length, flag, position = 0;
    MPI_Aint place = 0;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Datatype type;
    MPI_Comm_dup(WORLD, &comm);
    MPI_Comm_set_name(comm, "a name");
    MPI_Comm_get_name(comm, text, &length);
    MPI_Get_processor_name(text, &length);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "some value");
    MPI_Info_get(info, "key", 16, text, &flag);
    MPI_Info_free(&info);
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    MPI_Type_vector(2, 1, 4, MPI_INT, &type);
    MPI_Type_set_name(type, "gaps");
    MPI_Type_commit(&type);
    MPI_Pack(out, 1, type, packed, 64, &position, comm);
    MPI_Pack(out, 3, MPI_INT, packed, 64, &position, comm);
    MPI_Bcast(packed, position, MPI_PACKED, 0, comm);
    position = 0;
    MPI_Unpack(packed, 64, &position, in, 5, MPI_INT, comm);
    MPI_Pack_external("external32", out, 4, MPI_INT, packed, 64, &place);
    place = 0;
    MPI_Unpack_external("external32", packed, 64, &place, in, 2, MPI_INT);
    MPI_Bcast(text, 16, MPI_CHAR, 0, comm);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

static void large(void)
{
#ifdef LARGE
    const MPI_Count many[] = {1, 2, 3};
    const MPI_Aint where[] = {0, 1, 3};
    MPI_Request request;
    MPI_Status status;
    MPI_Isend_c(out, 3, MPI_INT, right, 1, WORLD, &request);
    MPI_Recv_c(in, 64, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &status);
    MPI_Wait(&request, IGNORE);
    MPI_Bcast_c(out, 4, MPI_INT, 1, WORLD);
    MPI_Allgatherv_c(out, me + 1, MPI_INT, in, many, where, MPI_INT, WORLD);
    MPI_Allgatherv_c(MPI_IN_PLACE, me + 1, MPI_INT, in, many, where, MPI_INT, WORLD);
#endif
}

static void errors(void)
{
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Send(out, 1, MPI_INT, 77, 0, WORLD);
    MPI_Send(out, 2, MPI_INT, 77, 0, WORLD);
    MPI_Bcast(out, 2, MPI_INT, 77, WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*calls)(void);
    } groups[] = {
        {"messages", messages},       {"requests", requests},   {"persistent", persistent},
        {"collective", collective},   {"nonblocking", nonblocking},
        {"neighbors", neighbors},     {"neighbors_w", neighbors_w}, {"graphs", graphs},
        {"windows", windows},         {"files", files},         {"texts", texts},
        {"large", large},             {"errors", errors}};
    const char *group = argc > 1 ? argv[1] : "";
    int provided;
    if (strcmp(group, "requests") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &ranks);
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    for (; *argv; argv++)
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (strcmp(*argv, groups[i].name) == 0)
                groups[i].calls();
    MPI_Finalize();
    if (me == 0)
        puts("OK");
    return 0;
}
