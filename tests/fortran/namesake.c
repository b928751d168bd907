/* namesake.c - a program in C whose library (namesake_library.c) has functions of its own that have
 * the names of MPI's in Fortran. */
#include <mpi.h>
#include <stdio.h>

int mpi_init(int *argc, char ***argv);
long mpi_send(const char *format, int a, int b, int c);

int main(int argc, char **argv)
{
    int me;
    if (mpi_init(&argc, &argv) != 42)
        return 1;
    if (mpi_send("%d %d %d", 1, 2, 3) != 106 || mpi_send("", 4, 5, 6) != 15)
        return 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Finalize();
    if (me == 0)
        puts("OK");
    return 0;
}
