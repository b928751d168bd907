! mpi4.F90 - calls that came with MPI-4.0, in groups, as mpi4.c makes them. On three ranks:
! mpi4 GROUP...
program mpi4
  use facts, only: me, ranks
#include "dialect.h"
  character(32) :: group
  integer :: i

  call get_command_argument(1, group)
  if (group == 'sessions' .or. group == 'psets') then
    call sessions(group)
    stop
  end if
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me IERR)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks IERR)
  do i = 1, command_argument_count()
    call get_command_argument(i, group)
    select case (group)
    case ('partitioned')
      call partitioned
    case ('planned')
      call planned
    case ('planned_rows')
      call planned_rows
    case ('planned_rows_w')
      call planned_rows_w
    case ('environment')
      call environment
    case ('exchanges')
      call exchanges
    end select
  end do
  call MPI_Finalize(ierr)
  if (me == 0) print '(a)', 'OK'
end program mpi4

! A communicator of a session's group, and one between two groups of it.
subroutine sessions(group)
  use facts, only: me, ranks, check
#include "dialect.h"
  character(*), intent(in) :: group
  integer :: n, length, out(8), in(8), beside(2)
  character(64) :: name
  HANDLE(MPI_Session) :: session
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Errhandler) :: handler
  HANDLE(MPI_Group) :: all, own, others
  HANDLE(MPI_Comm) :: comm, both
  A_STATUS(status)

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session IERR)
  call MPI_Session_get_info(session, info IERR)
  call MPI_Info_free(info IERR)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n IERR)
  call check(n >= 2, 'psets')
  if (group == 'psets') then
    length = 64
    name = ''
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name IERR)
    call check(name(1:6) == 'mpi://', 'name of a pset')
  end if
  call MPI_Session_get_pset_info(session, 'mpi://WORLD', info IERR)
  call MPI_Info_free(info IERR)
  call MPI_Session_set_errhandler(session, MPI_ERRORS_ARE_FATAL IERR)
  call MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN IERR)
  call MPI_Session_get_errhandler(session, handler IERR)
  call MPI_Session_call_errhandler(session, MPI_ERR_OTHER IERR)

  call MPI_Group_from_session_pset(session, 'mpi://WORLD', all IERR)
  call MPI_Group_rank(all, me IERR)
  call MPI_Group_size(all, ranks IERR)
  call check(ranks == 3, 'a group of a session')
  call MPI_Comm_create_from_group(all, 'calls', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm IERR)
  out = me
  call MPI_Sendrecv(out, 2 + me, MPI_INTEGER, mod(me + 1, ranks), 1, in, 8, MPI_INTEGER, &
                    mod(me + ranks - 1, ranks), 1, comm, status IERR)
  call check(in(1) == mod(me + ranks - 1, ranks), 'a communicator of a session')
  call MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_INTEGER, MPI_SUM, comm IERR)
  call check(out(3) == 3, 'a sum in a session')

  beside = (/ 1, 2 /)
  if (me == 0) then
    call MPI_Group_excl(all, 2, beside, own IERR)
    call MPI_Group_incl(all, 2, beside, others IERR)
  else
    call MPI_Group_incl(all, 2, beside, own IERR)
    call MPI_Group_excl(all, 2, beside, others IERR)
  end if
  call MPI_Intercomm_create_from_groups(own, 0, others, 0, 'both', MPI_INFO_NULL, &
                                        MPI_ERRORS_RETURN, both IERR)
  if (me == 0) call MPI_Send(out, 5, MPI_INTEGER, 1, 2, both IERR)
  if (me == 2) call MPI_Recv(in, 8, MPI_INTEGER, 0, 2, both, MPI_STATUS_IGNORE IERR)
  call MPI_Comm_free(both IERR)
  call MPI_Comm_free(comm IERR)
  call MPI_Group_free(own IERR)
  call MPI_Group_free(others IERR)
  call MPI_Group_free(all IERR)
  call MPI_Session_finalize(session IERR)
  if (me == 0) print '(a)', 'OK'
end subroutine sessions

subroutine partitioned
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: right, left, i, listed(1)
  integer, volatile :: in(12), out(12)
  integer(MPI_COUNT_KIND) :: each
#ifdef MPI_MODULE
  integer :: flag ! has to be a LOGICAL, which MPICH's module does not know
#else
  logical :: flag
#endif
  HANDLE(MPI_Request) :: request(2)
  STATUSES(status2, 2)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  each = 3
  call MPI_Psend_init(out, 4, each, MPI_INTEGER, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
                      request(1) IERR)
  call MPI_Precv_init(in, 4, each, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
                      request(2) IERR)
  listed = 0
  do i = 1, 2
    call MPI_Start(request(2) IERR)
    call MPI_Start(request(1) IERR)
    call MPI_Pready(3, request(1) IERR)
    call MPI_Pready_range(1, 2, request(1) IERR)
    call MPI_Pready_list(1, listed, request(1) IERR)
    call MPI_Parrived(request(2), 1, flag IERR)
    call MPI_Waitall(2, request, status2 IERR)
    call check(in(12) == left, 'partitions')
  end do
  call MPI_Startall(2, request IERR)
  call MPI_Pready_range(0, 3, request(1) IERR)
  call MPI_Wait(request(1), MPI_STATUS_IGNORE IERR)
  call MPI_Wait(request(2), MPI_STATUS_IGNORE IERR)
  call MPI_Request_free(request(1) IERR)
  call MPI_Request_free(request(2) IERR)
end subroutine partitioned

! Collectives that are planned once and started twice: but Scatter, which MPICH can start once.
subroutine planned
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64, 17), in(64, 17)
  integer :: counts(3) = (/ 1, 2, 3 /), at(3) = (/ 0, 1, 3 /), own(3), at4(3) = (/ 0, 4, 8 /)
  integer :: bytes(3) = (/ 0, 16, 32 /), two(3) = (/ 2, 2, 2 /), i
  HANDLE(MPI_Datatype) :: types(3), mine(3)
  HANDLE(MPI_Request) :: request(17), scatter

  types = (/ MPI_INTEGER1, MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  mine = types(me + 1)
  own = me + 1
  out = me + 1
  in = me
  call MPI_Bcast_init(out, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, request(1) IERR)
  if (me == 2) then
    call MPI_Reduce_init(MPI_IN_PLACE, in(1, 2), 4, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD, &
                         MPI_INFO_NULL, request(2) IERR)
  else
    call MPI_Reduce_init(out(1, 2), in(1, 2), 4, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD, &
                         MPI_INFO_NULL, request(2) IERR)
  end if
  call MPI_Allreduce_init(MPI_IN_PLACE, in(1, 3), 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, &
                          MPI_INFO_NULL, request(3) IERR)
  call MPI_Scan_init(out(1, 4), in(1, 4), 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                     MPI_INFO_NULL, request(4) IERR)
  call MPI_Exscan_init(out(1, 5), in(1, 5), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                       MPI_INFO_NULL, request(5) IERR)
  call MPI_Gather_init(out(1, 6), 2, MPI_INTEGER, in(1, 6), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                       MPI_INFO_NULL, request(6) IERR)
  call MPI_Gatherv_init(out(1, 7), me + 1, MPI_INTEGER, in(1, 7), counts, at, MPI_INTEGER, 0, &
                        MPI_COMM_WORLD, MPI_INFO_NULL, request(7) IERR)
  call MPI_Scatter_init(out(1, 8), 2, MPI_INTEGER, in(1, 8), 2, MPI_INTEGER, 1, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, scatter IERR)
  call MPI_Scatterv_init(out(1, 9), counts, at, MPI_INTEGER, in(1, 9), me + 1, MPI_INTEGER, 0, &
                         MPI_COMM_WORLD, MPI_INFO_NULL, request(9) IERR)
  call MPI_Allgather_init(out(1, 10), 2, MPI_INTEGER, in(1, 10), 2, MPI_INTEGER, &
                          MPI_COMM_WORLD, MPI_INFO_NULL, request(10) IERR)
  call MPI_Allgatherv_init(MPI_IN_PLACE, 0, MPI_INTEGER, in(1, 11), counts, at, MPI_INTEGER, &
                           MPI_COMM_WORLD, MPI_INFO_NULL, request(11) IERR)
  call MPI_Alltoall_init(out(1, 12), 2, MPI_INTEGER, in(1, 12), 2, MPI_INTEGER, MPI_COMM_WORLD, &
                         MPI_INFO_NULL, request(12) IERR)
  call MPI_Alltoallv_init(out(1, 13), counts, at, MPI_INTEGER, in(1, 13), own, at4, MPI_INTEGER, &
                          MPI_COMM_WORLD, MPI_INFO_NULL, request(13) IERR)
  call MPI_Alltoallw_init(out(1, 14), two, bytes, types, in(1, 14), two, bytes, mine, &
                          MPI_COMM_WORLD, MPI_INFO_NULL, request(14) IERR)
  call MPI_Reduce_scatter_init(out(1, 15), in(1, 15), counts, MPI_INTEGER, MPI_SUM, &
                               MPI_COMM_WORLD, MPI_INFO_NULL, request(15) IERR)
  call MPI_Reduce_scatter_block_init(out(1, 16), in(1, 16), 2, MPI_INTEGER, MPI_SUM, &
                                     MPI_COMM_WORLD, MPI_INFO_NULL, request(16) IERR)
  call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request(17) IERR)
  request(8) = MPI_REQUEST_NULL
  do i = 1, 17
    if (i == 8) cycle
    call MPI_Start(request(i) IERR)
    call MPI_Wait(request(i), MPI_STATUS_IGNORE IERR)
    call MPI_Start(request(i) IERR)
  end do
  call MPI_Start(scatter IERR)
  call MPI_Waitall(17, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Wait(scatter, MPI_STATUS_IGNORE IERR)
  call check(out(1, 1) == 2 .and. in(6, 11) == in(5, 11), 'planned')
  do i = 1, 17
    if (i /= 8) call MPI_Request_free(request(i) IERR)
  end do
  call MPI_Request_free(scatter IERR)
end subroutine planned

! With the neighbours in a row of three.
subroutine planned_rows
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64), in(64, 4)
  integer :: sizes(1), counts(2) = (/ 2, 2 /), at(2) = (/ 0, 2 /), i
  logical :: ring(1)
  HANDLE(MPI_Comm) :: row
  HANDLE(MPI_Request) :: request(4)

  out = me
  sizes = ranks
  ring = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, ring, .false., row IERR)
  call MPI_Neighbor_allgather_init(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, row, MPI_INFO_NULL, &
                                   request(1) IERR)
  call MPI_Neighbor_allgatherv_init(out, 2, MPI_INTEGER, in(1, 2), counts, at, MPI_INTEGER, row, &
                                    MPI_INFO_NULL, request(2) IERR)
  call MPI_Neighbor_alltoall_init(out, 3, MPI_INTEGER, in(1, 3), 3, MPI_INTEGER, row, &
                                  MPI_INFO_NULL, request(3) IERR)
  call MPI_Neighbor_alltoallv_init(out, counts, at, MPI_INTEGER, in(1, 4), counts, at, &
                                   MPI_INTEGER, row, MPI_INFO_NULL, request(4) IERR)
  do i = 1, 2
    call MPI_Startall(4, request IERR)
    call MPI_Waitall(4, request, MPI_STATUSES_IGNORE IERR)
  end do
  do i = 1, 4
    call MPI_Request_free(request(i) IERR)
  end do
  call MPI_Comm_free(row IERR)
end subroutine planned_rows

! Of many datatypes.
subroutine planned_rows_w
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64), in(64)
  integer :: sizes(1), counts(2) = (/ 2, 2 /)
  integer(MPI_ADDRESS_KIND) :: bytes(2) = (/ 0, 8 /)
  logical :: ring(1)
  HANDLE(MPI_Datatype) :: types(2)
  HANDLE(MPI_Comm) :: row
  HANDLE(MPI_Request) :: request

  types = MPI_INTEGER
  out = me
  sizes = ranks
  ring = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, ring, .false., row IERR)
  call MPI_Neighbor_alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, row, &
                                   MPI_INFO_NULL, request IERR)
  call MPI_Start(request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Request_free(request IERR)
  call MPI_Comm_free(row IERR)
end subroutine planned_rows_w

! And what else is new.
subroutine exchanges
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64), in(64)
  integer :: right, left, length
  logical :: flag
  character(32) :: value
  HANDLE(MPI_Request) :: request(2)
  HANDLE(MPI_Comm) :: comm
  HANDLE(MPI_Info) :: info
  A_STATUS(status)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  call MPI_Isendrecv(out, 3 + me, MPI_INTEGER, right, 1, in, 64, MPI_INTEGER, left, 1, &
                     MPI_COMM_WORLD, request(1) IERR)
  call MPI_Wait(request(1), status IERR)
  call check(in(1) == left, 'exchange')
  call MPI_Isendrecv_replace(out, 7, MPI_INTEGER, right, 2, left, 2, MPI_COMM_WORLD, &
                             request(1) IERR)
  call MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, comm, request(2) IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call check(out(7) == left, 'exchange in place')
  call MPI_Comm_free(comm IERR)
  call MPI_Info_create(info IERR)
  call MPI_Info_set(info, 'key', 'some value' IERR)
  length = 32
  call MPI_Info_get_string(info, 'key', length, value, flag IERR)
  call check(flag .and. value == 'some value', 'info')
  call MPI_Info_free(info IERR)
end subroutine exchanges

subroutine environment
#include "dialect.h"
  HANDLE(MPI_Info) :: info

  call MPI_Info_create_env(info IERR)
  call MPI_Info_free(info IERR)
end subroutine environment
