! Fortran's MPI_IN_PLACE, MPI_BOTTOM and MPI_STATUS(ES)_IGNORE are addresses of hidden variables
! and not the constants of C: taken for data they give wrong sums, taken for a status they are
! written over (jmrosinski/GPTL#7, llnl/mpiP#56, nerscadmin/IPM#6, eschnett/MPItrampoline#53,
! wi4mpi/wi4mpi#61). The program's results are as without the library,
! and each call counts once.
!
! RUN np=2
! EXPECT * MPI_Allreduce calls=1 out=12 in=12
! EXPECT * MPI_Allgather calls=1 out=4 in=8
! EXPECT 0 MPI_Send calls=2 out=24 in=0
! EXPECT 1 MPI_Recv calls=1 out=0 in=12
! EXPECT 1 MPI_Irecv calls=1 out=0 in=12
! EXPECT 1 MPI_Waitall calls=1
! EXPECT * MPI_Finalize calls=1
program sentinels
  use mpi
  implicit none
  integer :: ierr, me, absolute, request(1), row(2)
  integer, asynchronous :: numbers(3)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)

  numbers = (/ me, me + 1, me + 2 /)
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(all(numbers == (/ 1, 3, 5 /)), 'allreduce')
  row = -1
  row(me + 1) = 10 + me
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, row, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call check(all(row == (/ 10, 11 /)), 'allgather')

  absolute = type_of(numbers)
  numbers = 5 - 4 * me
  call sync(numbers)
  if (me == 0) then
    call MPI_Send(MPI_BOTTOM, 1, absolute, 1, 1, MPI_COMM_WORLD, ierr)
    call MPI_Send(numbers, 3, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, ierr)
  else
    call MPI_Recv(MPI_BOTTOM, 1, absolute, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call sync(numbers)
    call check(all(numbers == 5), 'bottom')
    numbers = 0
    call MPI_Irecv(numbers, 3, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, request(1), ierr)
    call MPI_Waitall(1, request, MPI_STATUSES_IGNORE, ierr)
    call sync(numbers)
    call check(all(numbers == 5), 'statuses')
  end if
  call MPI_Type_free(absolute, ierr)
  if (me == 0) print '(a)', 'OK'
  call MPI_Finalize(ierr)

contains

  ! As MPI_F_sync_reg, to which MPICH 4.0 hands on an argument that there is not.
  subroutine sync(variable)
    integer, intent(inout), asynchronous :: variable(3)
    integer(kind=MPI_ADDRESS_KIND) :: address

    call MPI_Get_address(variable, address, ierr)
  end subroutine sync

  integer function type_of(variable) result(handle)
    integer, intent(in), asynchronous :: variable(3)
    integer(kind=MPI_ADDRESS_KIND) :: address(1)
    integer :: lengths(1), members(1)

    call MPI_Get_address(variable, address(1), ierr)
    lengths = 3
    members = MPI_INTEGER
    call MPI_Type_create_struct(1, lengths, address, members, handle, ierr)
    call MPI_Type_commit(handle, ierr)
  end function type_of

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    print '(2a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine check
end program sentinels
