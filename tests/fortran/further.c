/* further.c - MPI calls in groups, as further.F90 makes them. On three ranks: further GROUP...
 *
 * As `spawned` it answers those that have started it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define NONE MPI_INFO_NULL

static int me, ranks, right, left;
static int in[4][64], out[64];

static void in_thread(int thread, MPI_Comm comm)
{
    int from[64], to[64] = {thread}, total, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Request request[2];
    MPI_Status status2[2];
    for (int i = 1; i <= 20; i++) {
        MPI_Irecv(from, 64, MPI_INT, left, thread, WORLD, &request[0]);
        MPI_Isend(to, thread + me, MPI_INT, right, thread, WORLD, &request[1]);
        MPI_Waitall(2, request, i % 2 == 0 ? MPI_STATUSES_IGNORE : status2);
        MPI_Allreduce(&me, &total, 1, MPI_INT, MPI_SUM, comm);
        MPI_Sendrecv(to, thread, MPI_INT, right, 9, from, 64, MPI_INT, left, 9, comm, IGNORE);
    }
    MPI_Comm_get_name(comm, name, &length);
}

static void threads(void)
{
    MPI_Comm comm[4];
    for (int thread = 0; thread < 4; thread++)
        MPI_Comm_dup(WORLD, &comm[thread]);
#pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int thread = 0; thread < 4; thread++)
        in_thread(thread + 1, comm[thread]);
    for (int thread = 0; thread < 4; thread++)
        MPI_Comm_free(&comm[thread]);
}

static void greet(MPI_Comm *spawned)
{
    int word = 5;
    if (me == 0) {
        MPI_Send(&word, 1, MPI_INT, 0, 1, *spawned);
        MPI_Recv(&word, 1, MPI_INT, 0, 2, *spawned, IGNORE);
    }
    MPI_Comm_disconnect(spawned);
}

static int answer(void)
{
    int rank, word;
    MPI_Comm parent;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, IGNORE);
        word++;
        MPI_Send(&word, 1, MPI_INT, 0, 2, parent);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static void processes(void)
{
    int codes[2];
    const int numbers[] = {1, 1};
    const MPI_Info infos[] = {NONE, NONE};
    char *commands[] = {"./spawned", "./spawned"}, *arguments[] = {"plus", NULL};
    char **table[] = {arguments, arguments};
    MPI_Comm spawned, parent;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn(commands[0], MPI_ARGV_NULL, 1, NONE, 0, WORLD, &spawned,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
        return;
    greet(&spawned);
    MPI_Comm_spawn(commands[0], arguments, 1, NONE, 0, WORLD, &spawned, codes);
    greet(&spawned);
    MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, numbers, infos, 0, WORLD, &spawned,
                            MPI_ERRCODES_IGNORE);
    greet(&spawned);
    MPI_Comm_spawn_multiple(2, commands, table, numbers, infos, 0, WORLD, &spawned, codes);
    greet(&spawned);
}

static void ports(void)
{
    char port[1024] = "";
    int low = me == 0;
    MPI_Comm part, both;
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(WORLD, low, me, &part);
    if (me == 0 && MPI_Open_port(NONE, port) != MPI_SUCCESS)
        port[0] = 0;
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, WORLD);
    if (!port[0])
        return;
    if (low) {
        MPI_Comm_accept(port, NONE, 0, part, &both);
        MPI_Send(out, 3, MPI_INT, 1, 1, both);
    } else {
        MPI_Comm_connect(port, NONE, 0, part, &both);
        if (me == 2)
            MPI_Recv(in, 8, MPI_INT, 0, 1, both, IGNORE);
    }
    MPI_Comm_disconnect(&both);
    if (me == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&part);
}

static void nothing(void)
{
    int flag, n, at[2], source = me, one = 1, none = 0, target = right, weight;
    MPI_Request request[2];
    MPI_Message message;
    MPI_Comm graph;
    MPI_Iprobe(MPI_PROC_NULL, 1, WORLD, &flag, IGNORE);
    MPI_Probe(MPI_PROC_NULL, 1, WORLD, IGNORE);
    MPI_Improbe(MPI_PROC_NULL, 1, WORLD, &flag, &message, IGNORE);
    MPI_Mrecv(in, 3, MPI_INT, &message, IGNORE);
    MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 1, in, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD,
                 IGNORE);
    MPI_Isend(out, 2, MPI_INT, MPI_PROC_NULL, 1, WORLD, &request[0]);
    MPI_Irecv(in, 3, MPI_INT, MPI_PROC_NULL, 1, WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, request, MPI_STATUSES_IGNORE);
    MPI_Waitany(2, request, &n, IGNORE);
    MPI_Waitsome(2, request, &n, at, MPI_STATUSES_IGNORE);
    MPI_Request_get_status(request[0], &flag, IGNORE);

    MPI_Dist_graph_create(WORLD, 1, &source, &one, &target, MPI_UNWEIGHTED, NONE, 0, &graph);
    MPI_Dist_graph_neighbors(graph, 1, &source, MPI_UNWEIGHTED, 1, &target, MPI_UNWEIGHTED);
    MPI_Neighbor_allgather(out, 2 + me, MPI_INT, in, 2 + left, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create(WORLD, 0, &source, &none, &target, MPI_WEIGHTS_EMPTY, NONE, 0, &graph);
    MPI_Comm_free(&graph);
}

static void bottom(void)
{
    const int lengths[] = {2, 1};
    MPI_Aint at[2];
    MPI_Datatype sent, received;
    MPI_Request request[2];
    MPI_Get_address(&out[0], &at[0]);
    MPI_Get_address(&out[4], &at[1]);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &sent);
    MPI_Get_address(&in[0][0], &at[0]);
    MPI_Get_address(&in[0][4], &at[1]);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &received);
    MPI_Type_commit(&sent);
    MPI_Type_commit(&received);
    MPI_Irecv(MPI_BOTTOM, 1, received, left, 1, WORLD, &request[0]);
    MPI_Isend(MPI_BOTTOM, 1, sent, right, 1, WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(MPI_BOTTOM, 1, sent, right, 2, MPI_BOTTOM, 1, received, left, 2, WORLD, IGNORE);
    MPI_Bcast(MPI_BOTTOM, 1, sent, 2, WORLD);
    MPI_Allgather(MPI_BOTTOM, 0, MPI_INT, MPI_BOTTOM, 0, MPI_INT, WORLD);
    MPI_Type_free(&sent);
    MPI_Type_free(&received);
}

static void in_place(void)
{
    const int counts[] = {1, 2, 3}, at[] = {0, 1, 3}, twos[] = {2, 2, 2};
    const int places[] = {0, 2, 4}, bytes[] = {0, 8, 16};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT};
    void *own = me == 0 ? MPI_IN_PLACE : out;
    int n = me == 0 ? 0 : me + 1;
    MPI_Request request;
    MPI_Gatherv(own, n, MPI_INT, in, counts, at, MPI_INT, 0, WORLD);
    MPI_Scatterv(in, counts, at, MPI_INT, own, n, MPI_INT, 0, WORLD);
    MPI_Scan(MPI_IN_PLACE, in, 5, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(MPI_IN_PLACE, in, 6, MPI_INT, MPI_SUM, WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in, 2, MPI_INT, WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, twos, at, MPI_INT, in, twos, places, MPI_INT, WORLD);
    MPI_Alltoallw(MPI_IN_PLACE, twos, bytes, types, in, twos, bytes, types, WORLD);
    MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, WORLD);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM, WORLD);
    MPI_Iallreduce(MPI_IN_PLACE, in, 7, MPI_INT, MPI_SUM, WORLD, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Iscan(MPI_IN_PLACE, in, 8, MPI_INT, MPI_SUM, WORLD, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, in, 3, MPI_INT, WORLD, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, in, 2, MPI_INT, WORLD, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Ireduce(me == 1 ? MPI_IN_PLACE : out, in, 9, MPI_INT, MPI_SUM, 1, WORLD, &request);
    MPI_Wait(&request, IGNORE);
}

static void rings(void)
{
    const int weight = 3, two = 2, at = 1;
    MPI_Comm graph;
    MPI_Request request[4];
    MPI_Dist_graph_create_adjacent(WORLD, 1, &left, &weight, 1, &right, &weight, NONE, 0, &graph);
    MPI_Ineighbor_allgather(out, 2 + me, MPI_INT, in[0], 2 + left, MPI_INT, graph, &request[0]);
    MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in[1], &two, &at, MPI_INT, graph, &request[1]);
    MPI_Ineighbor_alltoall(out, 3, MPI_INT, in[2], 3, MPI_INT, graph, &request[2]);
    MPI_Ineighbor_alltoallv(out, &two, &at, MPI_INT, in[3], &two, &at, MPI_INT, graph, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&graph);
}

static void epochs(void)
{
    static int space[64];
    int flag = 0;
    MPI_Win window;
    MPI_Group all, to, from;
    MPI_Request request;
    MPI_Win_create(space, 256, 4, NONE, WORLD, &window);
    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &right, &to);
    MPI_Group_incl(all, 1, &left, &from);
    for (int round = 1; round <= 2; round++) {
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(out, 2 + me, MPI_INT, right, 1, 2 + me, MPI_INT, window);
        MPI_Win_complete(window);
        if (round == 1)
            MPI_Win_wait(window);
        else
            while (!flag)
                MPI_Win_test(window, &flag);
    }
    MPI_Barrier(WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
    MPI_Put(out, 4, MPI_INT, right, 1, 4, MPI_INT, window);
    MPI_Win_flush(right, window);
    MPI_Win_flush_local(right, window);
    MPI_Win_unlock(right, window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Rget_accumulate(out, 5, MPI_INT, in, 5, MPI_INT, left, 1, 5, MPI_INT, MPI_SUM, window,
                        &request);
    MPI_Wait(&request, IGNORE);
    MPI_Rget_accumulate(out, 0, MPI_INT, in, 6, MPI_INT, left, 1, 6, MPI_INT, MPI_NO_OP, window,
                        &request);
    MPI_Wait(&request, IGNORE);
    MPI_Win_flush_local_all(window);
    MPI_Win_flush_all(window);
    MPI_Win_sync(window);
    MPI_Win_unlock_all(window);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}

static void memory(void)
{
    static int space[64];
    char name[MPI_MAX_OBJECT_NAME];
    int length, unit, flag;
    void *pointer;
    MPI_Aint bytes, places[3], at;
    MPI_Win window;
    MPI_Info info;
    MPI_Win_allocate_shared(256, 4, NONE, WORLD, &pointer, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &pointer);
    MPI_Win_fence(0, window);
    MPI_Put(out, 3 + me, MPI_INT, right, 0, 3 + me, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_set_name(window, "a window");
    MPI_Win_get_name(window, name, &length);
    MPI_Win_get_info(window, &info);
    MPI_Win_set_info(window, info);
    MPI_Info_free(&info);
    MPI_Win_get_attr(window, MPI_WIN_SIZE, &pointer, &flag);
    MPI_Win_free(&window);

    MPI_Win_create_dynamic(NONE, WORLD, &window);
    MPI_Win_attach(window, space, 256);
    MPI_Get_address(space, &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, WORLD);
    MPI_Win_lock_all(0, window);
    MPI_Put(out, 7, MPI_INT, right, places[right], 7, MPI_INT, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(WORLD);
    MPI_Win_detach(window, space);
    MPI_Win_free(&window);
}

static MPI_File opened(int mode)
{
    MPI_File file;
    MPI_File_open(WORLD, "calls.data", MPI_MODE_CREATE | MPI_MODE_RDWR | mode, NONE, &file);
    return file;
}

/* The rest of the accesses. */
static void shared_accesses(MPI_File file)
{
    MPI_Offset at;
    MPI_Request request;
    MPI_Status status;
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", NONE);
    MPI_File_write_shared(file, out, 5, MPI_INT, IGNORE);
    MPI_Barrier(WORLD);
    MPI_File_get_position_shared(file, &at);
    MPI_Barrier(WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_shared(file, in, 5, MPI_INT, &status);
    MPI_File_iwrite_shared(file, out, 2, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Barrier(WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_iread_shared(file, in, 2, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_write_ordered(file, out, 1 + me, MPI_INT, IGNORE);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(file, in, 1 + me, MPI_INT, &status);
    MPI_File_close(&file);
    MPI_Barrier(WORLD);
    if (me == 0)
        MPI_File_delete("calls.data", NONE);
}

static void accesses(void)
{
    int mode, flag;
    MPI_Offset at;
    MPI_Aint extent;
    char form[MPI_MAX_DATAREP_STRING];
    MPI_File file = opened(0);
    MPI_Datatype type, shape;
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Status status;
    MPI_File_preallocate(file, 4096);
    MPI_File_set_size(file, 4096);
    MPI_File_get_size(file, &at);
    MPI_File_get_amode(file, &mode);
    MPI_File_get_group(file, &group);
    MPI_Group_free(&group);
    MPI_File_get_info(file, &info);
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    MPI_File_set_atomicity(file, 1);
    MPI_File_get_atomicity(file, &flag);
    MPI_File_set_atomicity(file, 0);
    MPI_File_get_type_extent(file, MPI_INT, &extent);
    MPI_File_set_view(file, 512 * me, MPI_INT, MPI_INT, "native", NONE);
    MPI_File_get_view(file, &at, &type, &shape, form);
    MPI_File_write(file, out, 3 + me, MPI_INT, IGNORE);
    MPI_File_get_position(file, &at);
    MPI_File_get_byte_offset(file, at, &at);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read(file, in, 2, MPI_INT, &status);
    MPI_File_iwrite(file, out, 4, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iread(file, in, 5, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_iwrite_all(file, out, 6, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_iwrite_at_all(file, 0, out, 7, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_iread_at_all(file, 0, in, 7, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iread_all(file, in, 3, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_read_all(file, in, 2, MPI_INT, IGNORE);
    MPI_File_read_at_all(file, 0, in, 4, MPI_INT, &status);
    shared_accesses(file);
}

static void splits(void)
{
    MPI_File file = opened(MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_File_set_view(file, 512 * me, MPI_INT, MPI_INT, "native", NONE);
    MPI_File_write_all_begin(file, out, 3 + me, MPI_INT);
    MPI_File_write_all_end(file, out, IGNORE);
    MPI_File_write_at_all_begin(file, 0, out, 4, MPI_INT);
    MPI_File_write_at_all_end(file, out, &status);
    MPI_File_read_at_all_begin(file, 0, in, 5, MPI_INT);
    MPI_File_read_at_all_end(file, in, IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, in, 2, MPI_INT);
    MPI_File_read_all_end(file, in, &status);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", NONE);
    MPI_File_write_ordered_begin(file, out, 1 + me, MPI_INT);
    MPI_File_write_ordered_end(file, out, &status);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(file, in, 1 + me, MPI_INT);
    MPI_File_read_ordered_end(file, in, IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*calls)(void);
    } groups[] = {{"threads", threads},   {"processes", processes}, {"ports", ports},
                  {"nothing", nothing},   {"bottom", bottom},       {"in_place", in_place},
                  {"rings", rings},       {"epochs", epochs},       {"memory", memory},
                  {"accesses", accesses}, {"splits", splits}};
    const char *group = argc > 1 ? argv[1] : "";
    int provided;
    if (strcmp(group, "spawned") == 0)
        return answer();
    if (strcmp(group, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
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
