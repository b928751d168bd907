/* Spawned processes are a world of their own with a rank 0 of its own, and inherit the tool's
 * settings: one file each, and neither is lost (open-mpi/ompi#12004, jeffhammond/mukautuva#24).
 *
 * The settings are put in the launcher's environment, for its children's children get them only
 * so; the launcher itself has the library preloaded too. MPICH 4.0 has no dynamic processes over
 * UCX.
 *
 * RUN np=1 preload=job mpich:may=skip
 * FILES 2
 * WORLD ranks=1
 * EXPECT 0 MPI_Comm_spawn calls=1
 * EXPECT 0 MPI_Recv calls=2 in=8
 * EXPECT 0 MPI_Comm_disconnect calls=1
 * WORLD ranks=2
 * EXPECT * MPI_Send calls=1 out=4
 * EXPECT * MPI_Comm_disconnect calls=1
 */
#include "case.h"

static void be_parent(char *program)
{
    MPI_Comm children;
    int codes[2], words[2] = {0, 0};

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                       codes) != MPI_SUCCESS) {
        puts("SKIP MPI_Comm_spawn fails without the library, too");
        return;
    }
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    for (int child = 0; child < 2; child++)
        MPI_Recv(&words[child], 1, MPI_INT, child, 8, children, MPI_STATUS_IGNORE);
    CHECK(words[0] == 50 && words[1] == 51);
    MPI_Comm_disconnect(&children);
    case_done();
}

static void be_child(MPI_Comm parent)
{
    int word = 50 + me;

    MPI_Send(&word, 1, MPI_INT, 0, 8, parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    case_whoami(parent == MPI_COMM_NULL ? 1 : 2);
    if (parent == MPI_COMM_NULL)
        be_parent(argv[0]);
    else
        be_child(parent);
    MPI_Finalize();
    return 0;
}
