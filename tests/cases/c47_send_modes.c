/* Every send mode, the rare ones too; the buffer that the program attaches for buffered sends
 * has room for its own two messages and no more (open-mpi/ompi-release#195).
 *
 * RUN np=2
 * EXPECT 0 MPI_Send calls=1 out=8
 * EXPECT 0 MPI_Ssend calls=1 out=16
 * EXPECT 0 MPI_Bsend calls=1 out=24
 * EXPECT 0 MPI_Rsend calls=1 out=32
 * EXPECT 0 MPI_Issend calls=1 out=40
 * EXPECT 0 MPI_Ibsend calls=1 out=48
 * EXPECT 0 MPI_Irsend calls=1 out=56
 * EXPECT 1 MPI_Irecv calls=7 in=224
 * EXPECT * MPI_Sendrecv_replace calls=1 out=64 in=64
 * EXPECT * MPI_Sendrecv calls=1 out=16 in=16
 * EXPECT * MPI_Barrier calls=1
 * TOTAL 0 out=304 in=80
 * TOTAL 1 out=80 in=304
 */
#include "case.h"

enum { N_MODES = 7 };

static double numbers[8];

static void send_all(void)
{
    int size = 0, room;
    MPI_Request requests[3];
    void *attached;

    MPI_Pack_size(9, MPI_DOUBLE, MPI_COMM_WORLD, &room);
    room += 2 * MPI_BSEND_OVERHEAD;
    char *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    MPI_Send(numbers, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    MPI_Ssend(numbers, 2, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    MPI_Bsend(numbers, 3, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    MPI_Rsend(numbers, 4, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
    MPI_Issend(numbers, 5, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibsend(numbers, 6, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Irsend(numbers, 7, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&attached, &size);
    CHECK(attached == buffer && size == room);
    free(buffer);
}

static void exchange(void)
{
    double out[2] = {0, 3.5 + me}, in[3] = {0, 0, 0};

    numbers[7] = me;
    MPI_Sendrecv_replace(numbers, 8, MPI_DOUBLE, 1 - me, 8, 1 - me, 8, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    CHECK(numbers[7] == 1 - me);
    MPI_Sendrecv(out, 2, MPI_DOUBLE, 1 - me, 9, in, 3, MPI_DOUBLE, 1 - me, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(in[1] == 4.5 - me);
}

int main(int argc, char **argv)
{
    double inboxes[N_MODES][8];
    MPI_Request requests[N_MODES];

    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int mode = 1; me == 1 && mode <= N_MODES; mode++)
        MPI_Irecv(inboxes[mode - 1], mode, MPI_DOUBLE, 0, mode, MPI_COMM_WORLD,
                  &requests[mode - 1]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        send_all();
    else
        MPI_Waitall(N_MODES, requests, MPI_STATUSES_IGNORE);
    exchange();
    case_done();
    MPI_Finalize();
    return 0;
}
