/* A type's size is not its extent, and its handle may be freed while the message is in flight:
 * a strided column of ten doubles, resized so that two of them interleave, then packed bytes
 * (pmodels/mpich#3383).
 *
 * RUN np=2
 * EXPECT 0 MPI_Isend calls=1 out=160
 * EXPECT 0 MPI_Send calls=1 out=12
 * EXPECT 1 MPI_Irecv calls=1 in=160
 * EXPECT 1 MPI_Recv calls=1 in=12
 * EXPECT * MPI_Wait calls=1 out=0 in=0
 * EXPECT 0 MPI_Pack calls=2 out=12 in=0
 * EXPECT 1 MPI_Unpack calls=1 out=0 in=4
 * TOTAL 0 out=184 in=0
 * TOTAL 1 out=0 in=176
 */
#include "case.h"

static double matrix[10][8];

static void exchange_columns(void)
{
    MPI_Datatype column, narrow;
    MPI_Request request;
    MPI_Status status;
    int n_doubles = 0;

    MPI_Type_vector(10, 1, 8, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &narrow);
    MPI_Type_free(&column);
    MPI_Type_commit(&narrow);
    if (me == 0) {
        matrix[9][0] = 1.0;
        matrix[9][1] = 2.0;
        MPI_Isend(matrix, 2, narrow, 1, 0, MPI_COMM_WORLD, &request);
    } else {
        MPI_Irecv(matrix, 2, narrow, 0, 0, MPI_COMM_WORLD, &request);
    }
    MPI_Type_free(&narrow);
    MPI_Wait(&request, &status);
    if (me == 1) {
        MPI_Get_elements(&status, MPI_DOUBLE, &n_doubles);
        CHECK(n_doubles == 20 && matrix[9][0] == 1.0 && matrix[9][1] == 2.0);
    }
}

static void exchange_packed(void)
{
    char packed[100];
    int place = 0, whole = 42;
    double real = 0.125;

    if (me == 0) {
        MPI_Pack(&whole, 1, MPI_INT, packed, sizeof packed, &place, MPI_COMM_WORLD);
        MPI_Pack(&real, 1, MPI_DOUBLE, packed, sizeof packed, &place, MPI_COMM_WORLD);
        MPI_Send(packed, place, MPI_PACKED, 1, 1, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(packed, sizeof packed, MPI_PACKED, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    whole = 0;
    MPI_Unpack(packed, sizeof packed, &place, &whole, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(whole == 42);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    exchange_columns();
    exchange_packed();
    case_done();
    MPI_Finalize();
    return 0;
}
