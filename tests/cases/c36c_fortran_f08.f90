! Fortran by "use mpi_f08": handles are derived types, ierror is optional, a status is a type of
! its own, and the entry points have names of their own. The program's results are as without
! the library.
!
! RUN np=2
! EXPECT * MPI_Init calls=1
! EXPECT * MPI_Irecv calls=1 out=0 in=20
! EXPECT * MPI_Isend calls=1 out=20 in=0
! EXPECT * MPI_Waitall calls=1
! EXPECT * MPI_Get_count calls=1
! EXPECT * MPI_Allreduce calls=1 out=20 in=20
! EXPECT * MPI_Sendrecv calls=1 out=0 in=0
! EXPECT * MPI_Finalize calls=1
program exchange
  use mpi_f08
  implicit none
  integer :: me, n_items
  integer, asynchronous :: out(5), in(5)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  out = 7 * (me + 1)
  in = 0
  call MPI_Irecv(in, 5, MPI_INTEGER, 1 - me, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(out, 5, MPI_INTEGER, 1 - me, 3, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_F_sync_reg(in)
  call MPI_Get_count(statuses(1), MPI_INTEGER, n_items)
  call check(n_items == 5 .and. statuses(1)%MPI_SOURCE == 1 - me, 'status')
  call check(all(in == 7 * (2 - me)), 'message')
  call MPI_Allreduce(MPI_IN_PLACE, out, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(out == 21), 'sum')
  call MPI_Sendrecv(out, 5, MPI_INTEGER, MPI_PROC_NULL, 0, in, 5, MPI_INTEGER, MPI_PROC_NULL, 0, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  if (me == 0) print '(a)', 'OK'
  call MPI_Finalize()

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    print '(2a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine check
end program exchange
