! calls.F90 - MPI calls in groups, as calls.c makes them. On three ranks:
! calls GROUP...
!
! What each call moves differs from rank to rank and from call to call, so that one which is
! counted twice, or as another, shows.
program calls
  use facts, only: me, ranks
#include "dialect.h"
  character(32) :: group
  integer :: provided, i

  call get_command_argument(1, group)
  if (group == 'requests') then
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided IERR)
  else
    call MPI_Init(ierr)
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, me IERR)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks IERR)
  do i = 1, command_argument_count()
    call get_command_argument(i, group)
    select case (group)
    case ('messages')
      call messages
    case ('requests')
      call requests
    case ('persistent')
      call persistent
    case ('collective')
      call collective
    case ('nonblocking')
      call nonblocking
    case ('neighbors')
      call neighbors
    case ('neighbors_w')
      call neighbors_w
    case ('graphs')
      call graphs
    case ('windows')
      call windows
    case ('files')
      call files
    case ('texts')
      call texts
    case ('large')
      call large
    case ('errors')
      call errors
    case ('abort')
      call MPI_Abort(MPI_COMM_WORLD, 5 IERR)
    end select
  end do
  call MPI_Finalize(ierr)
  if (me == 0) print '(a)', 'OK'
end program calls

subroutine messages
  use facts, only: me, ranks, check
  use, intrinsic :: iso_c_binding
#include "dialect.h"
#ifdef MPI_F08
  type(c_ptr) :: detached
#else
  integer :: detached(4096)
#endif
  integer :: right, left, space(4096), n, i
  integer, volatile :: in(64)
  integer :: out(64), table(8, 8)
  HANDLE(MPI_Request) :: request
  HANDLE(MPI_Message) :: message
  A_STATUS(status)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  table = reshape((/ (i, i = 1, 64) /), (/ 8, 8 /))
  call MPI_Buffer_attach(space, 16384 IERR)
  call MPI_Bsend(out, 1 + me, MPI_INTEGER, right, 1, MPI_COMM_WORLD IERR)
  call MPI_Recv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status IERR)
  call MPI_Get_count(status, MPI_INTEGER, n IERR)
  call check(n == 1 + left .and. SOURCE_OF(status) == left .and. in(1) == left, 'status')
  call MPI_Buffer_detach(detached, n IERR)
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 2, MPI_COMM_WORLD, request IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call MPI_Rsend(out, 2, MPI_INTEGER, right, 2, MPI_COMM_WORLD IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 3, MPI_COMM_WORLD, request IERR)
  call MPI_Ssend(out, 3, MPI_INTEGER, right, 3, MPI_COMM_WORLD IERR)
  call MPI_Wait(request, status IERR)
  call check(SOURCE_OF(status) == left, 'status of wait')
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 4, MPI_COMM_WORLD, request IERR)
  call MPI_Send(table(2, :), 8, MPI_INTEGER, right, 4, MPI_COMM_WORLD IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call check(in(1) == 2 .and. in(8) == 58, 'a row of a matrix')
  call MPI_Send(out, 5, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD IERR)
  call MPI_Recv(in, 5, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Sendrecv(out, 6 + me, MPI_INTEGER, right, 6, in, 64, MPI_INTEGER, left, 6, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Sendrecv_replace(out, 7, MPI_INTEGER, right, 7, left, 7, MPI_COMM_WORLD, status IERR)
  call check(SOURCE_OF(status) == left, 'status of exchange')
  call MPI_Isend(out, 9 + me, MPI_INTEGER, right, 8, MPI_COMM_WORLD, request IERR)
  call MPI_Mprobe(left, 8, MPI_COMM_WORLD, message, status IERR)
  call MPI_Mrecv(in, 64, MPI_INTEGER, message, MPI_STATUS_IGNORE IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Isend(out, 10 + me, MPI_INTEGER, right, 9, MPI_COMM_WORLD, request IERR)
  call MPI_Probe(left, 9, MPI_COMM_WORLD, status IERR)
  call MPI_Recv(in, 64, MPI_INTEGER, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
end subroutine messages

! Only calls to MPI_Test* differ in number from run to run. What MPI says of indices is not looked
! at: MPICH 4.0 counts them from 0 by `use mpi_f08`.
subroutine requests
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: right, left, i, n, done, at(8), total
  integer, volatile :: in(64, 8), out(64)
  logical :: flag
  HANDLE(MPI_Request) :: request(8)
  HANDLE(MPI_Message) :: message
  A_STATUS(status)
  STATUSES(status8, 8)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  do i = 1, 4
    call MPI_Irecv(in(1, i), 64, MPI_INTEGER, left, i, MPI_COMM_WORLD, request(i) IERR)
    call MPI_Isend(out, i + me, MPI_INTEGER, right, i, MPI_COMM_WORLD, request(4 + i) IERR)
  end do
  call MPI_Waitall(8, request, MPI_STATUSES_IGNORE IERR)
  call check(all(in(1, 1:4) == left), 'waitall')
  call MPI_Waitall(8, request, status8 IERR)
  call MPI_Waitany(8, request, n, status IERR)
  call MPI_Wait(request(1), MPI_STATUS_IGNORE IERR)

  request = MPI_REQUEST_NULL
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(3) IERR)
  call MPI_Issend(out, 11, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(6) IERR)
  do i = 1, 2
    call MPI_Waitany(8, request, n, MPI_STATUS_IGNORE IERR)
  end do
  call check(request(3) == MPI_REQUEST_NULL .and. request(6) == MPI_REQUEST_NULL, 'waitany')

  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(2) IERR)
  call MPI_Isend(out, 12, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(7) IERR)
  total = 0
  do while (total < 2)
    call MPI_Testsome(8, request, done, at, MPI_STATUSES_IGNORE IERR)
    total = total + done
  end do
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(8) IERR)
  call MPI_Send(out, 13, MPI_INTEGER, right, 1, MPI_COMM_WORLD IERR)
  call MPI_Waitsome(8, request, done, at, status8 IERR)
  call check(done == 1 .and. request(8) == MPI_REQUEST_NULL, 'waitsome')

  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Send(out, 14, MPI_INTEGER, right, 1, MPI_COMM_WORLD IERR)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(request(1), flag, MPI_STATUS_IGNORE IERR)
  end do
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(5) IERR)
  call MPI_Send(out, 15, MPI_INTEGER, right, 1, MPI_COMM_WORLD IERR)
  flag = .false.
  do while (.not. flag)
    call MPI_Testany(8, request, n, flag, status IERR)
  end do
  call check(request(5) == MPI_REQUEST_NULL .and. SOURCE_OF(status) == left, 'testany')
  call MPI_Irecv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Isend(out, 16, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(2) IERR)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, request, flag, status8 IERR)
  end do

  call MPI_Isend(out, 17, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE IERR)
  call MPI_Imrecv(in, 64, MPI_INTEGER, message, request(2) IERR)
  call MPI_Waitall(2, request, status8 IERR)

  call MPI_Irecv(in, 64, MPI_INTEGER, left, 99, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Cancel(request(1) IERR)
  call MPI_Wait(request(1), status IERR)
  call MPI_Test_cancelled(status, flag IERR)
  call check(flag, 'cancelled')
  call MPI_Isend(out, 18, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Recv(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Request_free(request(1) IERR)
  call check(request(1) == MPI_REQUEST_NULL, 'freed')
  call MPI_Barrier(MPI_COMM_WORLD IERR)
end subroutine requests

subroutine persistent
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: right, left, i, n
  integer, volatile :: in(64), out(64)
  HANDLE(MPI_Request) :: request(2)
  STATUSES(status2, 2)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  call MPI_Recv_init(in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Send_init(out, 3 + me, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(2) IERR)
  call MPI_Waitall(2, request, status2 IERR)
  do i = 1, 3
    call MPI_Startall(2, request IERR)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
    call check(in(1) == left, 'startall')
  end do
  call MPI_Pcontrol(0)
  call MPI_Start(request(1) IERR)
  call MPI_Start(request(2) IERR)
  call MPI_Waitall(2, request, status2 IERR)
  call MPI_Pcontrol(1)
  do i = 1, 2
    call MPI_Start(request(1) IERR)
    call MPI_Start(request(2) IERR)
    call MPI_Wait(request(1), MPI_STATUS_IGNORE IERR)
    call MPI_Waitany(2, request, n, MPI_STATUS_IGNORE IERR)
  end do
  call MPI_Request_free(request(1) IERR)
  call MPI_Request_free(request(2) IERR)
end subroutine persistent

subroutine collective
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(64), in(64)
  integer :: counts(3) = (/ 1, 2, 3 /), at(3) = (/ 0, 1, 3 /), own(3), at4(3) = (/ 0, 4, 8 /)
  integer :: bytes(3) = (/ 0, 16, 32 /), two(3) = (/ 2, 2, 2 /)
  HANDLE(MPI_Datatype) :: types(3), mine(3)

  types = (/ MPI_INTEGER1, MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  mine = types(me + 1)
  own = me + 1
  out = me + 1
  call MPI_Bcast(out, 3, MPI_INTEGER, 1, MPI_COMM_WORLD IERR)
  call check(out(3) == 2, 'broadcast')
  out = me + 1
  call MPI_Reduce(out, in, 4, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD IERR)
  if (me == 2) then
    call MPI_Reduce(MPI_IN_PLACE, out, 5, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD IERR)
    call check(in(4) == 6 .and. out(5) == 6, 'reduce')
  else
    call MPI_Reduce(out, in, 5, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD IERR)
  end if
  call MPI_Allreduce(MPI_IN_PLACE, in, 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD IERR)
  call MPI_Scan(out, in, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call MPI_Exscan(out, in, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  out = me + 1
  call MPI_Gather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  if (me == 0) then
    in(1:2) = 77
    call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, in, 2, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    call check(in(1) == 77 .and. in(6) == 3, 'gather in place')
  else
    call MPI_Gather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  end if
  call MPI_Gatherv(out, me + 1, MPI_INTEGER, in, counts, at, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  call MPI_Scatter(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, 1, MPI_COMM_WORLD IERR)
  if (me == 1) then
    call MPI_Scatter(in, 3, MPI_INTEGER, MPI_IN_PLACE, 3, MPI_INTEGER, 1, MPI_COMM_WORLD IERR)
  else
    call MPI_Scatter(in, 3, MPI_INTEGER, out, 3, MPI_INTEGER, 1, MPI_COMM_WORLD IERR)
  end if
  call MPI_Scatterv(in, counts, at, MPI_INTEGER, out, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  call MPI_Allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, in, 3, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Allgatherv(out, me + 1, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, in, counts, at, MPI_INTEGER, &
                      MPI_COMM_WORLD IERR)
  call MPI_Alltoall(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Alltoallv(out, counts, at, MPI_INTEGER, in, own, at4, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Alltoallw(out, two, bytes, types, in, two, bytes, mine, MPI_COMM_WORLD IERR)
  call MPI_Reduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call MPI_Reduce_scatter_block(out, in, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call MPI_Reduce_local(out, in, 2, MPI_INTEGER, MPI_SUM IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
end subroutine collective

subroutine nonblocking
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64, 16), in(64, 16)
  integer :: counts(3) = (/ 1, 2, 3 /), at(3) = (/ 0, 1, 3 /), own(3), at4(3) = (/ 0, 4, 8 /)
  integer :: bytes(3) = (/ 0, 16, 32 /), two(3) = (/ 2, 2, 2 /)
  HANDLE(MPI_Datatype) :: types(3), mine(3)
  HANDLE(MPI_Request) :: request(16)
  HANDLE(MPI_Comm) :: comm

  types = (/ MPI_INTEGER1, MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  mine = types(me + 1)
  own = me + 1
  out = me + 1
  call MPI_Ibcast(out, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Ireduce(out(1, 2), in(1, 2), 4, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD, &
                   request(2) IERR)
  call MPI_Iallreduce(MPI_IN_PLACE, in(1, 3), 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, &
                      request(3) IERR)
  call MPI_Iscan(out(1, 4), in(1, 4), 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(4) IERR)
  call MPI_Iexscan(out(1, 5), in(1, 5), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(5) IERR)
  call MPI_Igather(out(1, 6), 2, MPI_INTEGER, in(1, 6), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                   request(6) IERR)
  call MPI_Igatherv(out(1, 7), me + 1, MPI_INTEGER, in(1, 7), counts, at, MPI_INTEGER, 0, &
                    MPI_COMM_WORLD, request(7) IERR)
  call MPI_Iscatter(out(1, 8), 2, MPI_INTEGER, in(1, 8), 2, MPI_INTEGER, 1, MPI_COMM_WORLD, &
                    request(8) IERR)
  call MPI_Iscatterv(out(1, 9), counts, at, MPI_INTEGER, in(1, 9), me + 1, MPI_INTEGER, 0, &
                     MPI_COMM_WORLD, request(9) IERR)
  call MPI_Iallgather(out(1, 10), 2, MPI_INTEGER, in(1, 10), 2, MPI_INTEGER, MPI_COMM_WORLD, &
                      request(10) IERR)
  call MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, in(1, 11), counts, at, MPI_INTEGER, &
                       MPI_COMM_WORLD, request(11) IERR)
  call MPI_Ialltoall(out(1, 12), 2, MPI_INTEGER, in(1, 12), 2, MPI_INTEGER, MPI_COMM_WORLD, &
                     request(12) IERR)
  call MPI_Ialltoallv(out(1, 13), counts, at, MPI_INTEGER, in(1, 13), own, at4, MPI_INTEGER, &
                      MPI_COMM_WORLD, request(13) IERR)
  call MPI_Ialltoallw(out(1, 14), two, bytes, types, in(1, 14), two, bytes, mine, &
                      MPI_COMM_WORLD, request(14) IERR)
  call MPI_Ireduce_scatter(out(1, 15), in(1, 15), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                           request(15) IERR)
  call MPI_Ireduce_scatter_block(out(1, 16), in(1, 16), 2, MPI_INTEGER, MPI_SUM, &
                                 MPI_COMM_WORLD, request(16) IERR)
  call MPI_Waitall(16, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Ibarrier(MPI_COMM_WORLD, request(1) IERR)
  call MPI_Comm_idup(MPI_COMM_WORLD, comm, request(2) IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Comm_free(comm IERR)
end subroutine nonblocking

! A row of three without a ring.
subroutine neighbors
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(64), in(64), sizes(1), before, after
  integer :: counts(2) = (/ 2, 2 /), at(2) = (/ 0, 2 /)
  logical :: ring(1)
  HANDLE(MPI_Comm) :: row
  HANDLE(MPI_Request) :: request

  out = me
  sizes = ranks
  ring = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, ring, .false., row IERR)
  call MPI_Cart_shift(row, 0, 1, before, after IERR)
  call MPI_Neighbor_allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, row IERR)
  call MPI_Neighbor_allgatherv(out, 2, MPI_INTEGER, in, counts, at, MPI_INTEGER, row IERR)
  call MPI_Neighbor_alltoall(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, row IERR)
  call MPI_Neighbor_alltoallv(out, counts, at, MPI_INTEGER, in, counts, at, MPI_INTEGER, row IERR)
  call MPI_Ineighbor_allgather(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, row, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Comm_free(row IERR)
end subroutine neighbors

! Of many datatypes.
subroutine neighbors_w
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(64), in(64), sizes(1), counts(2) = (/ 2, 2 /)
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
  call MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, row IERR)
  call MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, row, &
                               request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Comm_free(row IERR)
end subroutine neighbors_w

! A ring without weights, and ranks without neighbours.
subroutine graphs
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(64), in(64), source(1), target(1), n_in, n_out
  logical :: weighted
  HANDLE(MPI_Comm) :: graph

  out = me
  source = mod(me + ranks - 1, ranks)
  target = mod(me + 1, ranks)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target, &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph IERR)
  call MPI_Dist_graph_neighbors_count(graph, n_in, n_out, weighted IERR)
  call check(n_in == 1 .and. n_out == 1 .and. .not. weighted, 'unweighted')
  call MPI_Neighbor_alltoall(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, graph IERR)
  call check(in(1) == source(1), 'graph')
  call MPI_Comm_free(graph IERR)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, source, MPI_WEIGHTS_EMPTY, 0, target, &
                                      MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph IERR)
  call MPI_Comm_free(graph IERR)
end subroutine graphs

subroutine windows
  use facts, only: me, ranks, check
  use, intrinsic :: iso_c_binding
#include "dialect.h"
  integer, volatile :: memory(64), out(64), in(64), one, other
  integer :: right
  integer(MPI_ADDRESS_KIND) :: at
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Request) :: request(2)
#ifndef MPIF_H
  type(c_ptr) :: pointer
#endif

  right = mod(me + 1, ranks)
  memory = 0
  out = me + 1
  at = 0
  call MPI_Win_create(memory, int(256, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &
                      window IERR)
  call MPI_Win_fence(0, window IERR)
  call MPI_Put(out, 3, MPI_INTEGER, right, at, 3, MPI_INTEGER, window IERR)
  call MPI_Win_fence(0, window IERR)
  call check(memory(3) == mod(me + ranks - 1, ranks) + 1, 'put')
  call MPI_Get(in, 5, MPI_INTEGER, right, at, 5, MPI_INTEGER, window IERR)
  call MPI_Win_fence(0, window IERR)
  call MPI_Accumulate(out, 6, MPI_INTEGER, right, at, 6, MPI_INTEGER, MPI_SUM, window IERR)
  call MPI_Put(out, 7, MPI_INTEGER, MPI_PROC_NULL, at, 7, MPI_INTEGER, window IERR)
  call MPI_Win_fence(0, window IERR)
  call MPI_Win_lock_all(0, window IERR)
  one = 1
  call MPI_Fetch_and_op(one, other, MPI_INTEGER, right, at, MPI_SUM, window IERR)
  call MPI_Fetch_and_op(one, other, MPI_INTEGER, right, at, MPI_NO_OP, window IERR)
  call MPI_Compare_and_swap(one, other, in, MPI_INTEGER, right, at, window IERR)
  call MPI_Win_flush(right, window IERR)
  call MPI_Get_accumulate(out, 8, MPI_INTEGER, in, 8, MPI_INTEGER, right, at, 8, MPI_INTEGER, &
                          MPI_SUM, window IERR)
  call MPI_Get_accumulate(out, 0, MPI_INTEGER, in, 9, MPI_INTEGER, right, at, 9, MPI_INTEGER, &
                          MPI_NO_OP, window IERR)
  call MPI_Win_flush_all(window IERR)
  call MPI_Rput(out, 10, MPI_INTEGER, right, at, 10, MPI_INTEGER, window, request(1) IERR)
  call MPI_Rget(in, 11, MPI_INTEGER, right, at, 11, MPI_INTEGER, window, request(2) IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Raccumulate(out, 12, MPI_INTEGER, right, at, 12, MPI_INTEGER, MPI_SUM, window, &
                       request(1) IERR)
  call MPI_Wait(request(1), MPI_STATUS_IGNORE IERR)
  call MPI_Win_unlock_all(window IERR)
  call MPI_Win_free(window IERR)
#ifdef MPIF_H
  call MPI_Win_allocate(int(64, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, at, &
                        window IERR)
  call check(at /= 0, 'allocated')
  call MPI_Win_free(window IERR)
  call MPI_Alloc_mem(int(64, MPI_ADDRESS_KIND), MPI_INFO_NULL, at IERR)
  call free_memory(at)
#else
  call MPI_Win_allocate(int(64, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, pointer, &
                        window IERR)
  call check(c_associated(pointer), 'allocated')
  call MPI_Win_free(window IERR)
  call MPI_Alloc_mem(int(64, MPI_ADDRESS_KIND), MPI_INFO_NULL, pointer IERR)
  call free_memory(transfer(pointer, at))
#endif
contains
  subroutine free_memory(address)
    integer(MPI_ADDRESS_KIND), intent(in) :: address
    integer, pointer :: number
    call c_f_pointer(transfer(address, c_null_ptr), number)
    call MPI_Free_mem(number IERR)
  end subroutine free_memory
end subroutine windows

subroutine files
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: in(64), out(64)
  integer(MPI_OFFSET_KIND) :: at
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  A_STATUS(status)

  out = me
  at = 256 * me
  call MPI_File_open(MPI_COMM_WORLD, 'calls.data', &
                     ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR, MPI_MODE_DELETE_ON_CLOSE)), &
                     MPI_INFO_NULL, file IERR)
  call MPI_File_write_at(file, at, out, 3 + me, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call MPI_File_read_at(file, at, in, 2, MPI_INTEGER, status IERR)
  call check(in(2) == me, 'read')
  call MPI_File_write_at_all(file, at, out, 16, MPI_INTEGER, status IERR)
  call MPI_File_iwrite_at(file, at, out, 5, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_sync(file IERR)
  call MPI_File_iread_at(file, at, in, 6, MPI_INTEGER, request IERR)
  call MPI_Wait(request, status IERR)
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL IERR)
  call MPI_File_write_all(file, out, 7, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  at = 0
  call MPI_File_seek(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read_all_begin(file, in, 4, MPI_INTEGER IERR)
  call MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE IERR)
  call MPI_File_close(file IERR)
end subroutine files

subroutine texts
  use facts, only: me, ranks, check
#include "dialect.h"
  character(MPI_MAX_OBJECT_NAME) :: name
  character(MPI_MAX_PROCESSOR_NAME) :: processor
  character(MPI_MAX_ERROR_STRING) :: explained
  character(16) :: value
  character(64) :: packed
  integer :: length, position, out(8), in(8), address(2)
  integer(MPI_ADDRESS_KIND) :: place, bytes
  logical :: flag
  HANDLE(MPI_Comm) :: comm
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Datatype) :: type

  out = me
  call MPI_Comm_dup(MPI_COMM_WORLD, comm IERR)
  call MPI_Comm_set_name(comm, 'a name' IERR)
  call MPI_Comm_get_name(comm, name, length IERR)
  call check(name == 'a name' .and. length == 6, 'name')
  call MPI_Get_processor_name(processor, length IERR)
  call check(length > 0 .and. len_trim(processor) == length, 'processor')
  call MPI_Info_create(info IERR)
  call MPI_Info_set(info, 'key', 'some value' IERR)
  call MPI_Info_get(info, 'key', 16, value, flag IERR)
  call check(flag .and. value == 'some value', 'info')
  call MPI_Info_free(info IERR)
  call MPI_Error_string(MPI_ERR_RANK, explained, length IERR)
  call check(length > 0, 'error string')
  call MPI_Type_vector(2, 1, 4, MPI_INTEGER, type IERR)
  call MPI_Type_set_name(type, 'gaps' IERR)
  call MPI_Type_commit(type IERR)
  position = 0
  call MPI_Pack(out, 1, type, packed, 64, position, comm IERR)
  call MPI_Pack(out, 3, MPI_INTEGER, packed, 64, position, comm IERR)
  call MPI_Bcast(packed, position, MPI_PACKED, 0, comm IERR)
  position = 0
  call MPI_Unpack(packed, 64, position, in, 5, MPI_INTEGER, comm IERR)
  call check(in(5) == 0, 'unpack')
  place = 0
  bytes = 64
  call MPI_Pack_external('external32', out, 4, MPI_INTEGER, packed, bytes, place IERR)
  place = 0
  call MPI_Unpack_external('external32', packed, bytes, place, in, 2, MPI_INTEGER IERR)
  call check(in(1) == me, 'unpack external')
  call MPI_Bcast(value, 16, MPI_CHARACTER, 0, comm IERR)
  call MPI_Type_free(type IERR)
  call MPI_Comm_free(comm IERR)
end subroutine texts

! Counts of more than 32 bits, though of a few numbers: where there are such functions.
subroutine large
  use facts, only: me, ranks, check
#include "dialect.h"
#if defined LARGE && defined MPI_F08
  integer, volatile :: out(64), in(64)
  integer(MPI_COUNT_KIND) :: counts(3) = (/ 1, 2, 3 /), n
  integer(MPI_ADDRESS_KIND) :: at(3) = (/ 0, 1, 3 /)
  type(MPI_Request) :: request
  type(MPI_Status) :: status

  out = me
  n = 3
  call MPI_Isend(out, n, MPI_INTEGER, mod(me + 1, ranks), 1, MPI_COMM_WORLD, request)
  n = 64
  call MPI_Recv(in, n, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  n = 4
  call MPI_Bcast(out, n, MPI_INTEGER, 1, MPI_COMM_WORLD)
  n = me + 1
  call MPI_Allgatherv(out, n, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Allgatherv(MPI_IN_PLACE, n, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD)
#endif
end subroutine large

! A call that fails moves nothing, whether or not the program asks.
subroutine errors
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(4)

  out = 0
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN IERR)
  call MPI_Send(out, 1, MPI_INTEGER, 77, 0, MPI_COMM_WORLD, ierr)
  call check(ierr /= MPI_SUCCESS, 'error')
  call MPI_Send(out, 2, MPI_INTEGER, 77, 0, MPI_COMM_WORLD IERR)
  call MPI_Bcast(out, 2, MPI_INTEGER, 77, MPI_COMM_WORLD IERR)
end subroutine errors
