/* Received bytes are those that arrived: receives posted for a hundred integers get ten or
 * seven, from a source that only the probe's status names (FRENSIE/FRENSIE#190, CFT-HY/HILA#35).
 *
 * The last receive is too short for its message: the program must get its MPI_ERR_TRUNCATE, and
 * a call that failed moves nothing.
 *
 * RUN np=3
 * EXPECT 0 MPI_Probe calls=2 in=0
 * EXPECT 0 MPI_Recv calls=3 in=68
 * EXPECT 1 MPI_Send calls=2 out=120
 * EXPECT 2 MPI_Send calls=1 out=28
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

static int numbers[100];

static void receive_any(void)
{
    MPI_Status probed, received;
    int n_probed, n_received;

    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
    MPI_Get_count(&probed, MPI_INT, &n_probed);
    MPI_Recv(numbers, 100, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &received);
    MPI_Get_count(&received, MPI_INT, &n_received);
    CHECK(received.MPI_SOURCE == probed.MPI_SOURCE && received.MPI_TAG == probed.MPI_TAG);
    CHECK(n_probed == n_received && n_received == (received.MPI_SOURCE == 1 ? 10 : 7));
}

static void receive_truncated(void)
{
    int class = MPI_SUCCESS;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Recv(numbers, 5, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(3);
    if (me == 0) {
        receive_any();
        receive_any();
    } else {
        MPI_Send(numbers, me == 1 ? 10 : 7, MPI_INT, 0, 50 + me, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        receive_truncated();
    else if (me == 1)
        MPI_Send(numbers, 20, MPI_INT, 0, 9, MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
