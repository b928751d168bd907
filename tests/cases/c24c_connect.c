/* MPI_Comm_accept and MPI_Comm_connect: the two sides of the bridge are groups of one world, and a
 * peer's rank counts in the other side's. MPICH 4.0 has no dynamic processes over UCX.
 *
 * RUN np=2 mpich:may=skip
 * EXPECT 0 MPI_Open_port calls=1
 * EXPECT 0 MPI_Comm_accept calls=1
 * EXPECT 0 MPI_Close_port calls=1
 * EXPECT 1 MPI_Comm_connect calls=1
 * EXPECT 0 MPI_Sendrecv calls=1 out=12 in=8
 * EXPECT 1 MPI_Sendrecv calls=1 out=8 in=12
 * EXPECT * MPI_Comm_disconnect calls=1
 * EXPECT 0 MPI_Send calls=1 out=256
 */
#include "case.h"

enum { PORT_BYTES = 256 };

_Static_assert(PORT_BYTES <= MPI_MAX_PORT_NAME, "a port's name fits");

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
    MPI_Comm bridge;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    if (me == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS)
            port[0] = '\0';
        CHECK(strlen(port) < PORT_BYTES);
        MPI_Send(port, PORT_BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(port, PORT_BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!port[0]) {
        if (me == 0)
            puts("SKIP MPI_Open_port fails without the library, too");
        MPI_Finalize();
        return 0;
    }
    if (me == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &bridge);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &bridge);
    int n = 3 - me;
    MPI_Sendrecv(out, n, MPI_INT, 0, 1, in, 3, MPI_INT, 0, 1, bridge, MPI_STATUS_IGNORE);
    CHECK(in[1] == 2 && in[2] == (me == 0 ? 0 : 3));
    MPI_Comm_disconnect(&bridge);
    if (me == 0)
        MPI_Close_port(port);
    case_done();
    MPI_Finalize();
    return 0;
}
