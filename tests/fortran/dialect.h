! dialect.h - the one of Fortran's three ways to have MPI, at the beginning of each subroutine. By
! `use mpi_f08` the last argument is left out.
#if defined MPI_F08
  use mpi_f08
  implicit none
#define HANDLE(kind) type(kind)
#define A_STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(name) name%MPI_SOURCE
#define SOURCE_OF_FIRST(name) name(1)%MPI_SOURCE
#define IERR
#elif defined MPI_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#ifndef MPI_F08
#define HANDLE(kind) integer
#define A_STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(name) name(MPI_SOURCE)
#define SOURCE_OF_FIRST(name) name(MPI_SOURCE, 1)
#define IERR , ierr
#endif
  integer :: ierr
