/* MPI_BOTTOM is a null pointer to many an MPI, and the data lie where the datatype says: here in
 * two heap blocks of 12 and 16 bytes. A tool may not know their memory kind; it may neither
 * crash nor leave the call out (llnl/mpiP#56, PRUNERS/ReMPI#8).
 *
 * RUN np=2
 * EXPECT 0 MPI_Send calls=1 out=28
 * EXPECT 0 MPI_Isend calls=1 out=28
 * EXPECT 1 MPI_Recv calls=2 in=56
 * EXPECT * MPI_Bcast calls=1
 * EXPECT 0 MPI_Bcast out=28 in=0
 * EXPECT 1 MPI_Bcast out=0 in=28
 */
#include "case.h"

static MPI_Datatype type_of_blocks(int *ints, double *doubles)
{
    int lengths[2] = {3, 2};
    MPI_Aint addresses[2];
    MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE}, type;

    MPI_Get_address(ints, &addresses[0]);
    MPI_Get_address(doubles, &addresses[1]);
    MPI_Type_create_struct(2, lengths, addresses, members, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    int *ints = calloc(3, sizeof *ints);
    double *doubles = calloc(2, sizeof *doubles);
    MPI_Datatype type = type_of_blocks(ints, doubles);

    if (me == 0) {
        MPI_Request request;
        ints[2] = 11;
        doubles[1] = 0.25;
        MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Isend(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ints[2] = 22;
    }
    for (int i = 0; me == 1 && i < 2; i++) {
        ints[2] = 0;
        doubles[1] = 0;
        MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(ints[2] == 11 && doubles[1] == 0.25);
    }
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    CHECK(ints[2] == 22 && doubles[1] == 0.25);
    MPI_Type_free(&type);
    free(ints);
    free(doubles);
    case_done();
    MPI_Finalize();
    return 0;
}
