! Fortran by "use mpi": under Open MPI its entry points call PMPI_* directly, requests are
! integers, and statuses are a rank-2 array of integers (open-mpi/ompi#3954, pmodels/mpich#2209,
! llnl/Caliper#230, darshan-hpc/darshan#97). The program's results are as without the library,
! and each call counts once.
!
! RUN np=2
! EXPECT * MPI_Init calls=1
! EXPECT 0 MPI_Isend calls=2 out=48 in=0
! EXPECT 1 MPI_Irecv calls=2 out=0 in=48
! EXPECT * MPI_Waitall calls=1
! EXPECT 1 MPI_Get_count calls=1
! EXPECT * MPI_Allreduce calls=1 out=8 in=8
! EXPECT * MPI_Finalize calls=1
program exchange
  use mpi
  implicit none
  integer :: ierr, me, ranks, n_items, requests(2), statuses(MPI_STATUS_SIZE, 2)
  double precision :: first(4), second(2), mine, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  first = 1.25d0 * (1 - me)
  second = 2.5d0 * (1 - me)
  if (me == 0) then
    call MPI_Isend(first, 4, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(second, 2, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, requests(2), ierr)
  else
    call MPI_Irecv(first, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(second, 2, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, requests(2), ierr)
  end if
  call MPI_Waitall(2, requests, statuses, ierr)
  call check(all(first == 1.25d0) .and. all(second == 2.5d0), 'messages')
  if (me == 1) then
    call MPI_Get_count(statuses(:, 2), MPI_DOUBLE_PRECISION, n_items, ierr)
    call check(n_items == 2 .and. statuses(MPI_TAG, 2) == 2, 'statuses')
  end if
  mine = me + 1
  call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(total == ranks * (ranks + 1) / 2.0d0, 'sum')
  if (me == 0) print '(a)', 'OK'
  call MPI_Finalize(ierr)

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    print '(2a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine check
end program exchange
