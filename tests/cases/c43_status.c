/* The status that the program sees: whole, with its MPI_ERROR field as a call that completes one
 * operation leaves it, and nothing written beside it (mpickpt/mana#204, wi4mpi/wi4mpi#61).
 *
 * RUN np=2
 * EXPECT 0 MPI_Send calls=1 out=12
 * EXPECT 0 MPI_Isend calls=1 out=12
 * EXPECT 1 MPI_Recv calls=1 in=12
 * EXPECT 1 MPI_Irecv calls=1 in=12
 * EXPECT * MPI_Wait calls=1 in=0
 */
#include "case.h"

static MPI_Status row[3], untouched;

static void paint(void)
{
    memset(row, 0x3c, sizeof row);
    untouched = row[0];
}

static void check_row(int tag)
{
    int n_items = 0;

    CHECK(memcmp(&row[0], &untouched, sizeof untouched) == 0);
    CHECK(memcmp(&row[2], &untouched, sizeof untouched) == 0);
    CHECK(row[1].MPI_SOURCE == 0 && row[1].MPI_TAG == tag);
    CHECK(row[1].MPI_ERROR == untouched.MPI_ERROR);
    MPI_Get_count(&row[1], MPI_INT, &n_items);
    CHECK(n_items == 3);
}

int main(int argc, char **argv)
{
    int numbers[8] = {1, 2, 3};
    MPI_Request request;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    if (me == 0) {
        MPI_Send(numbers, 3, MPI_INT, 1, 21, MPI_COMM_WORLD);
        MPI_Isend(numbers, 3, MPI_INT, 1, 22, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        paint();
        MPI_Recv(numbers, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &row[1]);
        check_row(21);
        MPI_Irecv(numbers, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        paint();
        MPI_Wait(&request, &row[1]);
        check_row(22);
    }
    case_done();
    MPI_Finalize();
    return 0;
}
