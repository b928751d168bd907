! opened_calls.f90 - what opened.c opens.
subroutine calls
  use mpi
  implicit none
  integer :: ierr, numbers(4)

  call MPI_Init(ierr)
  numbers = 1
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, numbers, 2, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call MPI_Finalize(ierr)
end subroutine calls
