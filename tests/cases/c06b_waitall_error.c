/* MPI_Waitall that fails for one request of three: the program gets MPI_ERR_IN_STATUS and each
 * request's own error, the good receives count, the truncated one does not. Whether a request is
 * still waited for behind the one that failed is the MPI's choice: such a one is pending.
 *
 * RUN np=2
 * EXPECT 0 MPI_Irecv calls=3 in=60
 * EXPECT 0 MPI_Waitall calls=1 in=0
 * EXPECT 1 MPI_Send calls=3 out=140
 */
#include "case.h"

static int class_of(int code)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    return class;
}

static void receive(void)
{
    int in[3][20];
    MPI_Request requests[3];
    MPI_Status statuses[3];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(in[0], 20, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 5, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(in[2], 20, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    int code = MPI_Waitall(3, requests, statuses);
    CHECK(class_of(code) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_SUCCESS);
    CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    if (class_of(statuses[2].MPI_ERROR) == MPI_ERR_PENDING)
        CHECK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    else
        CHECK(class_of(statuses[2].MPI_ERROR) == MPI_SUCCESS);
    CHECK(in[0][4] == 5 && in[2][9] == 10);
}

static void send(void)
{
    int out[20];

    for (int i = 0; i < 20; i++)
        out[i] = i + 1;
    MPI_Send(out, 5, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(out, 20, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(out, 10, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    if (me == 0)
        receive();
    else
        send();
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
