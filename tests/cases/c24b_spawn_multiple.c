/* MPI_Comm_spawn_multiple: the children are one world, though started by two commands, and a call
 * on the bridge to their parents is an inter-communicator's (open-mpi/ompi#12004).
 *
 * Two parents, three children. Each parent broadcasts or not, and gets a sum over the children. MPICH
 * 4.0 has no dynamic processes over UCX.
 *
 * RUN np=2 preload=job mpich:may=skip
 * FILES 2
 * WORLD ranks=2
 * EXPECT * MPI_Comm_spawn_multiple calls=1
 * EXPECT 0 MPI_Bcast calls=1 out=8 in=0
 * EXPECT 1 MPI_Bcast calls=1 out=0 in=0
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 * EXPECT * MPI_Comm_disconnect calls=1
 * WORLD ranks=3
 * EXPECT * MPI_Bcast calls=1 out=0 in=8
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 * EXPECT * MPI_Comm_disconnect calls=1
 */
#include "case.h"

enum { PARENTS = 2, CHILDREN = 3 };

static void be_parent(char *program)
{
    char *programs[2] = {program, program};
    int counts[2] = {1, 2}, codes[CHILDREN], words[2] = {5, 6}, one = 1, sum = 0;
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm children;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD,
                                &children, codes) != MPI_SUCCESS) {
        puts("SKIP MPI_Comm_spawn_multiple fails without the library, too");
        return;
    }
    MPI_Bcast(words, 2, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, children);
    CHECK(sum == 10 * CHILDREN);
    MPI_Comm_disconnect(&children);
    case_done();
}

static void be_child(MPI_Comm parents)
{
    int words[2] = {0, 0}, ten = 10, sum = 0;

    MPI_Bcast(words, 2, MPI_INT, 0, parents);
    CHECK(words[0] == 5 && words[1] == 6);
    MPI_Allreduce(&ten, &sum, 1, MPI_INT, MPI_SUM, parents);
    CHECK(sum == PARENTS);
    MPI_Comm_disconnect(&parents);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    case_whoami(parents == MPI_COMM_NULL ? PARENTS : CHILDREN);
    if (parents == MPI_COMM_NULL)
        be_parent(argv[0]);
    else
        be_child(parents);
    MPI_Finalize();
    return 0;
}
