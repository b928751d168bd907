! mixed.f90 - Fortran that calls C that calls Fortran, all of which call MPI (mixed.c).
program mixed
  use mpi
  implicit none
  interface
    subroutine send_from_c(comm, n) bind(c)
      use, intrinsic :: iso_c_binding
      integer(c_int), value :: comm, n
    end subroutine send_from_c
  end interface
  integer :: ierr, me

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call send_from_c(MPI_COMM_WORLD, 3)
  call MPI_Finalize(ierr)
  if (me == 0) print '(a)', 'OK'
end program mixed

! What C posted Fortran completes, and the other way round.
subroutine exchange_from_fortran(comm, from_c, posted, n) bind(c)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer(c_int), value :: comm, n
  integer(c_int) :: from_c, posted
  integer, volatile, save :: in(64), out(64)
  type(MPI_Request) :: request
  type(MPI_Comm) :: world

  world%MPI_VAL = comm
  request%MPI_VAL = from_c
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Irecv(in, 64, MPI_INTEGER, MPI_ANY_SOURCE, 2, world, request)
  posted = request%MPI_VAL
  call MPI_Send(out, n + 1, MPI_INTEGER, 0, 2, world)
end subroutine exchange_from_fortran
