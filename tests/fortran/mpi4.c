/* mpi4.c - calls that came with MPI-4.0, in groups, as mpi4.F90 makes them. On three ranks:
 * mpi4 GROUP... */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define NONE MPI_INFO_NULL

static int me, ranks, right, left;
static int in[17][64], out[17][64];

static void know(void)
{
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
}

static void sessions(const char *group)
{
    int n, length = 64;
    char name[64];
    const int beside[] = {1, 2};
    MPI_Session session;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Group all, own, others;
    MPI_Comm comm, both;
    MPI_Status status;
    MPI_Session_init(NONE, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_info(session, &info);
    MPI_Info_free(&info);
    MPI_Session_get_num_psets(session, NONE, &n);
    if (strcmp(group, "psets") == 0)
        MPI_Session_get_nth_pset(session, NONE, 0, &length, name);
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_free(&info);
    MPI_Session_set_errhandler(session, MPI_ERRORS_ARE_FATAL);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    MPI_Session_get_errhandler(session, &handler);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);

    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &me);
    MPI_Group_size(all, &ranks);
    know();
    MPI_Comm_create_from_group(all, "calls", NONE, MPI_ERRORS_RETURN, &comm);
    MPI_Sendrecv(out, 2 + me, MPI_INT, right, 1, in, 8, MPI_INT, left, 1, comm, &status);
    MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, comm);
    if (me == 0) {
        MPI_Group_excl(all, 2, beside, &own);
        MPI_Group_incl(all, 2, beside, &others);
    } else {
        MPI_Group_incl(all, 2, beside, &own);
        MPI_Group_excl(all, 2, beside, &others);
    }
    MPI_Intercomm_create_from_groups(own, 0, others, 0, "both", NONE, MPI_ERRORS_RETURN, &both);
    if (me == 0)
        MPI_Send(out, 5, MPI_INT, 1, 2, both);
    if (me == 2)
        MPI_Recv(in, 8, MPI_INT, 0, 2, both, IGNORE);
    MPI_Comm_free(&both);
    MPI_Comm_free(&comm);
    MPI_Group_free(&own);
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Session_finalize(&session);
}

static void partitioned(void)
{
    int flag;
    int listed[] = {0};
    MPI_Request request[2];
    MPI_Status status2[2];
    MPI_Psend_init(out, 4, 3, MPI_INT, right, 1, WORLD, NONE, &request[0]);
    MPI_Precv_init(in, 4, 3, MPI_INT, left, 1, WORLD, NONE, &request[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request[1]);
        MPI_Start(&request[0]);
        MPI_Pready(3, request[0]);
        MPI_Pready_range(1, 2, request[0]);
        MPI_Pready_list(1, listed, request[0]);
        MPI_Parrived(request[1], 1, &flag);
        MPI_Waitall(2, request, status2);
    }
    MPI_Startall(2, request);
    MPI_Pready_range(0, 3, request[0]);
    MPI_Wait(&request[0], IGNORE);
    MPI_Wait(&request[1], IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void planned(void)
{
    const int counts[] = {1, 2, 3}, at[] = {0, 1, 3}, at4[] = {0, 4, 8};
    const int bytes[] = {0, 16, 32}, two[] = {2, 2, 2}, own[] = {me + 1, me + 1, me + 1};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Datatype mine[] = {types[me], types[me], types[me]};
    MPI_Request r[17], scatter;
    MPI_Bcast_init(out, 3, MPI_INT, 1, WORLD, NONE, &r[0]);
    MPI_Reduce_init(me == 2 ? MPI_IN_PLACE : out[1], in[1], 4, MPI_INT, MPI_SUM, 2, WORLD, NONE,
                    &r[1]);
    MPI_Allreduce_init(MPI_IN_PLACE, in[2], 6, MPI_INT, MPI_MAX, WORLD, NONE, &r[2]);
    MPI_Scan_init(out[3], in[3], 7, MPI_INT, MPI_SUM, WORLD, NONE, &r[3]);
    MPI_Exscan_init(out[4], in[4], 8, MPI_INT, MPI_SUM, WORLD, NONE, &r[4]);
    MPI_Gather_init(out[5], 2, MPI_INT, in[5], 2, MPI_INT, 0, WORLD, NONE, &r[5]);
    MPI_Gatherv_init(out[6], me + 1, MPI_INT, in[6], counts, at, MPI_INT, 0, WORLD, NONE, &r[6]);
    MPI_Scatter_init(out[7], 2, MPI_INT, in[7], 2, MPI_INT, 1, WORLD, NONE, &scatter);
    MPI_Scatterv_init(out[8], counts, at, MPI_INT, in[8], me + 1, MPI_INT, 0, WORLD, NONE, &r[8]);
    MPI_Allgather_init(out[9], 2, MPI_INT, in[9], 2, MPI_INT, WORLD, NONE, &r[9]);
    MPI_Allgatherv_init(MPI_IN_PLACE, 0, MPI_INT, in[10], counts, at, MPI_INT, WORLD, NONE, &r[10]);
    MPI_Alltoall_init(out[11], 2, MPI_INT, in[11], 2, MPI_INT, WORLD, NONE, &r[11]);
    MPI_Alltoallv_init(out[12], counts, at, MPI_INT, in[12], own, at4, MPI_INT, WORLD, NONE,
                       &r[12]);
    MPI_Alltoallw_init(out[13], two, bytes, types, in[13], two, bytes, mine, WORLD, NONE, &r[13]);
    MPI_Reduce_scatter_init(out[14], in[14], counts, MPI_INT, MPI_SUM, WORLD, NONE, &r[14]);
    MPI_Reduce_scatter_block_init(out[15], in[15], 2, MPI_INT, MPI_SUM, WORLD, NONE, &r[15]);
    MPI_Barrier_init(WORLD, NONE, &r[16]);
    r[7] = MPI_REQUEST_NULL;
    for (int i = 0; i < 17; i++) {
        if (i == 7)
            continue;
        MPI_Start(&r[i]);
        MPI_Wait(&r[i], IGNORE);
        MPI_Start(&r[i]);
    }
    MPI_Start(&scatter);
    MPI_Waitall(17, r, MPI_STATUSES_IGNORE);
    MPI_Wait(&scatter, IGNORE);
    for (int i = 0; i < 17; i++)
        if (i != 7)
            MPI_Request_free(&r[i]);
    MPI_Request_free(&scatter);
}

static void planned_rows(void)
{
    const int two[] = {2, 2}, from[] = {0, 2};
    int ring = 0;
    MPI_Comm row;
    MPI_Request r[4];
    MPI_Cart_create(WORLD, 1, &ranks, &ring, 0, &row);
    MPI_Neighbor_allgather_init(out, 2, MPI_INT, in[0], 2, MPI_INT, row, NONE, &r[0]);
    MPI_Neighbor_allgatherv_init(out, 2, MPI_INT, in[1], two, from, MPI_INT, row, NONE, &r[1]);
    MPI_Neighbor_alltoall_init(out, 3, MPI_INT, in[2], 3, MPI_INT, row, NONE, &r[2]);
    MPI_Neighbor_alltoallv_init(out, two, from, MPI_INT, in[3], two, from, MPI_INT, row, NONE,
                                &r[3]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(4, r);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&r[i]);
    MPI_Comm_free(&row);
}

static void planned_rows_w(void)
{
    const int two[] = {2, 2};
    const MPI_Aint where[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    int ring = 0;
    MPI_Comm row;
    MPI_Request request;
    MPI_Cart_create(WORLD, 1, &ranks, &ring, 0, &row);
    MPI_Neighbor_alltoallw_init(out, two, where, types, in, two, where, types, row, NONE, &request);
    MPI_Start(&request);
    MPI_Wait(&request, IGNORE);
    MPI_Request_free(&request);
    MPI_Comm_free(&row);
}

static void exchanges(void)
{
    char value[33];
    int length = 33, flag;
    MPI_Request request[2];
    MPI_Comm comm;
    MPI_Info info;
    MPI_Status status;
    MPI_Isendrecv(out, 3 + me, MPI_INT, right, 1, in, 64, MPI_INT, left, 1, WORLD, &request[0]);
    MPI_Wait(&request[0], &status);
    MPI_Isendrecv_replace(out, 7, MPI_INT, right, 2, left, 2, WORLD, &request[0]);
    MPI_Comm_idup_with_info(WORLD, NONE, &comm, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "some value");
    MPI_Info_get_string(info, "key", &length, value, &flag);
    MPI_Info_free(&info);
}

static void environment(void)
{
    MPI_Info info;
    MPI_Info_create_env(0, NULL, &info);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*calls)(void);
    } groups[] = {{"partitioned", partitioned},   {"planned", planned},
                  {"planned_rows", planned_rows}, {"planned_rows_w", planned_rows_w},
                  {"exchanges", exchanges},       {"environment", environment}};
    const char *group = argc > 1 ? argv[1] : "";
    if (strcmp(group, "sessions") == 0 || strcmp(group, "psets") == 0) {
        sessions(group);
    } else {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(WORLD, &me);
        MPI_Comm_size(WORLD, &ranks);
        know();
        for (; *argv; argv++)
            for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
                if (strcmp(*argv, groups[i].name) == 0)
                    groups[i].calls();
        MPI_Finalize();
    }
    if (me == 0)
        puts("OK");
    return 0;
}
