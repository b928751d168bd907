/* mixed.c - the C in mixed.f90; run on one rank. */
#include <mpi.h>

void exchange_from_fortran(int comm, int *from_c, int *posted, int n);
void send_from_c(int comm, int n);

void send_from_c(int comm, int n)
{
    static int in[64], out[64];
    MPI_Comm world = MPI_Comm_f2c(comm);
    MPI_Request request;
    MPI_Irecv(in, 64, MPI_INT, MPI_ANY_SOURCE, 1, world, &request);
    MPI_Send(out, n, MPI_INT, 0, 1, world);
    MPI_Fint from_c = MPI_Request_c2f(request), posted = 0;
    exchange_from_fortran(comm, &from_c, &posted, n);
    request = MPI_Request_f2c(posted);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
