/* namesake_library.c - see namesake.c */
#include <mpi.h>
#include <string.h>

int mpi_init(int *argc, char ***argv);
long mpi_send(const char *format, int a, int b, int c);

int mpi_init(int *argc, char ***argv)
{
    if (*argc < 1 || !**argv)
        return -1;
    MPI_Init(argc, argv);
    return 42;
}

long mpi_send(const char *format, int a, int b, int c)
{
    return a + b + c + (strlen(format) == 8 ? 100L : 0L);
}
