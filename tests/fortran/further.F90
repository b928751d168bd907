! further.F90 - MPI calls in groups, as further.c makes them: by threads, to processes that are
! started, with what stands for nothing, and the rest of windows and files. On three ranks:
! further GROUP...
program further
  use facts, only: me, ranks, check
#include "dialect.h"
  character(32) :: group
  integer :: provided, i

  call get_command_argument(1, group)
  if (group == 'threads') then
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided IERR)
    call check(provided == MPI_THREAD_MULTIPLE, 'threads')
  else
    call MPI_Init(ierr)
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, me IERR)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks IERR)
  do i = 1, command_argument_count()
    call get_command_argument(i, group)
    select case (group)
    case ('threads')
      call threads
    case ('processes')
      call processes
    case ('ports')
      call ports
    case ('nothing')
      call nothing
    case ('bottom')
      call bottom
    case ('in_place')
      call in_place
    case ('rings')
      call rings
    case ('epochs')
      call epochs
    case ('memory')
      call memory
    case ('accesses')
      call accesses
    case ('splits')
      call splits
    end select
  end do
  call MPI_Finalize(ierr)
  if (me == 0) print '(a)', 'OK'
end program further

! Four threads of each rank, each with messages of its own: tags tell them apart.
subroutine threads
  use facts, only: me, ranks
#include "dialect.h"
  integer :: thread
  HANDLE(MPI_Comm) :: comm(4)

  do thread = 1, 4
    call MPI_Comm_dup(MPI_COMM_WORLD, comm(thread) IERR)
  end do
  !$omp parallel do num_threads(4) schedule(static, 1)
  do thread = 1, 4
    call in_thread(thread, comm(thread))
  end do
  !$omp end parallel do
  do thread = 1, 4
    call MPI_Comm_free(comm(thread) IERR)
  end do
contains
  subroutine in_thread(thread, comm)
    use facts, only: check
    integer, intent(in) :: thread
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, volatile :: out(64), in(64)
    integer :: i, right, left, total, own, failed, length
    character(MPI_MAX_OBJECT_NAME) :: name
    HANDLE(MPI_Request) :: request(2)
    STATUSES(status2, 2)

    right = mod(me + 1, ranks)
    left = mod(me + ranks - 1, ranks)
    out = 10 * me + thread
    own = me
    do i = 1, 20
      call MPI_Irecv(in, 64, MPI_INTEGER, left, thread, MPI_COMM_WORLD, request(1), failed)
      call MPI_Isend(out, thread + me, MPI_INTEGER, right, thread, MPI_COMM_WORLD, request(2), &
                     failed)
      if (mod(i, 2) == 0) then
        call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, failed)
      else
        call MPI_Waitall(2, request, status2, failed)
        call check(SOURCE_OF_FIRST(status2) == left, 'status of a thread')
      end if
      call check(in(1) == 10 * left + thread, 'a message between threads')
      call MPI_Allreduce(own, total, 1, MPI_INTEGER, MPI_SUM, comm, failed)
      call check(total == ranks * (ranks - 1) / 2, 'a sum of threads')
      call MPI_Sendrecv(out, thread, MPI_INTEGER, right, 9, in, 64, MPI_INTEGER, left, 9, comm, &
                        MPI_STATUS_IGNORE, failed)
    end do
    call MPI_Comm_get_name(comm, name, length, failed)
  end subroutine in_thread
end subroutine threads

! ./spawned answers what it is told.
subroutine processes
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: word, codes(2), numbers(2) = (/ 1, 1 /)
  character(16) :: commands(2), arguments(2), table(2, 2)
  HANDLE(MPI_Info) :: infos(2)
  HANDLE(MPI_Comm) :: spawned, parent

  call MPI_Comm_get_parent(parent IERR)
  call check(parent == MPI_COMM_NULL, 'no parent')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN IERR)
  call MPI_Comm_spawn('./spawned', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, spawned, &
                      MPI_ERRCODES_IGNORE, ierr)
  if (ierr /= MPI_SUCCESS) return
  call greet
  arguments = (/ 'plus', '    ' /)
  call MPI_Comm_spawn('./spawned', arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, spawned, &
                      codes IERR)
  call greet
  commands = './spawned'
  infos = MPI_INFO_NULL
  call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, numbers, infos, 0, MPI_COMM_WORLD, &
                               spawned, MPI_ERRCODES_IGNORE IERR)
  call greet
  table = ' '
  table(:, 1) = 'plus'
  call MPI_Comm_spawn_multiple(2, commands, table, numbers, infos, 0, MPI_COMM_WORLD, spawned, &
                               codes IERR)
  call check(all(codes == MPI_SUCCESS), 'codes')
  call greet
contains
  subroutine greet
    if (me == 0) then
      word = 5
      call MPI_Send(word, 1, MPI_INTEGER, 0, 1, spawned IERR)
      call MPI_Recv(word, 1, MPI_INTEGER, 0, 2, spawned, MPI_STATUS_IGNORE IERR)
      call check(word == 6, 'a word to a process')
    end if
    call MPI_Comm_disconnect(spawned IERR)
  end subroutine greet
end subroutine processes

! Rank 0 meets the others.
subroutine ports
  use facts, only: me, ranks, check
#include "dialect.h"
  character(1024) :: port ! MPICH has MPI_MAX_PORT_NAME in two lengths
  integer :: low, out(8), in(8)
  HANDLE(MPI_Comm) :: part, both

  low = merge(1, 0, me == 0)
  port = ' '
  out = me
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN IERR)
  call MPI_Comm_split(MPI_COMM_WORLD, low, me, part IERR)
  if (me == 0) call MPI_Open_port(MPI_INFO_NULL, port, ierr)
  if (me == 0 .and. ierr /= MPI_SUCCESS) port = ' '
  call MPI_Bcast(port, 1024, MPI_CHARACTER, 0, MPI_COMM_WORLD IERR)
  if (port == ' ') return
  if (low == 1) then
    call MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, both IERR)
    call MPI_Send(out, 3, MPI_INTEGER, 1, 1, both IERR)
  else
    call MPI_Comm_connect(port, MPI_INFO_NULL, 0, part, both IERR)
    if (me == 2) call MPI_Recv(in, 8, MPI_INTEGER, 0, 1, both, MPI_STATUS_IGNORE IERR)
  end if
  call MPI_Comm_disconnect(both IERR)
  if (me == 0) call MPI_Close_port(port IERR)
  call MPI_Comm_free(part IERR)
end subroutine ports

! Nobody, no requests, and statuses that are not wanted. What MPI says of no request is not looked at:
! MPICH 4.0 adds 1 to MPI_UNDEFINED.
subroutine nothing
  use facts, only: me, ranks, check
#include "dialect.h"
  integer :: out(8), in(8), n, at(2), source(3), target(3), degree(1)
  logical :: flag
  HANDLE(MPI_Request) :: request(2)
  HANDLE(MPI_Message) :: message
  HANDLE(MPI_Comm) :: graph

  out = me
  request = MPI_REQUEST_NULL
  call MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE IERR)
  call check(flag, 'iprobe')
  call MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, flag, message, MPI_STATUS_IGNORE IERR)
  call check(flag .and. message == MPI_MESSAGE_NO_PROC, 'improbe')
  call MPI_Mrecv(in, 3, MPI_INTEGER, message, MPI_STATUS_IGNORE IERR)
  call MPI_Sendrecv(out, 1, MPI_INTEGER, MPI_PROC_NULL, 1, in, 1, MPI_INTEGER, MPI_PROC_NULL, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Isend(out, 2, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Irecv(in, 3, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, request(2) IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Waitall(0, request, MPI_STATUSES_IGNORE IERR)
  call MPI_Waitany(2, request, n, MPI_STATUS_IGNORE IERR)
  call MPI_Waitsome(2, request, n, at, MPI_STATUSES_IGNORE IERR)
  call MPI_Request_get_status(request(1), flag, MPI_STATUS_IGNORE IERR)

  source = me
  degree = 1
  target = mod(me + 1, ranks)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, target, MPI_UNWEIGHTED, &
                             MPI_INFO_NULL, .false., graph IERR)
  call MPI_Dist_graph_neighbors(graph, 1, source, MPI_UNWEIGHTED, 1, target, MPI_UNWEIGHTED IERR)
  call check(source(1) == mod(me + ranks - 1, ranks), 'a graph without weights')
  call MPI_Neighbor_allgather(out, 2 + me, MPI_INTEGER, in, 2 + source(1), MPI_INTEGER, graph IERR)
  call check(in(1) == source(1), 'a ring')
  call MPI_Comm_free(graph IERR)
  degree = 0
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, source, degree, target, MPI_WEIGHTS_EMPTY, &
                             MPI_INFO_NULL, .false., graph IERR)
  call MPI_Comm_free(graph IERR)
end subroutine nothing

! Datatypes of absolute addresses.
subroutine bottom
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(8), in(8)
  integer :: right, left, lengths(2) = (/ 2, 1 /)
  integer(MPI_ADDRESS_KIND) :: at(2)
  HANDLE(MPI_Datatype) :: sent, received
  HANDLE(MPI_Request) :: request(2)

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  out = me
  call MPI_Get_address(out(1), at(1) IERR)
  call MPI_Get_address(out(5), at(2) IERR)
  call MPI_Type_create_hindexed(2, lengths, at, MPI_INTEGER, sent IERR)
  call MPI_Get_address(in(1), at(1) IERR)
  call MPI_Get_address(in(5), at(2) IERR)
  call MPI_Type_create_hindexed(2, lengths, at, MPI_INTEGER, received IERR)
  call MPI_Type_commit(sent IERR)
  call MPI_Type_commit(received IERR)
  call MPI_Irecv(MPI_BOTTOM, 1, received, left, 1, MPI_COMM_WORLD, request(1) IERR)
  call MPI_Isend(MPI_BOTTOM, 1, sent, right, 1, MPI_COMM_WORLD, request(2) IERR)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE IERR)
  call check(in(5) == left, 'to an address')
  call MPI_Sendrecv(MPI_BOTTOM, 1, sent, right, 2, MPI_BOTTOM, 1, received, left, 2, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call MPI_Bcast(MPI_BOTTOM, 1, sent, 2, MPI_COMM_WORLD IERR)
  call check(out(5) == 2, 'from an address')
  call MPI_Allgather(MPI_BOTTOM, 0, MPI_INTEGER, MPI_BOTTOM, 0, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call MPI_Type_free(sent IERR)
  call MPI_Type_free(received IERR)
end subroutine bottom

! In each call that has it.
subroutine in_place
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: in(64)
  integer :: counts(3) = (/ 1, 2, 3 /), at(3) = (/ 0, 1, 3 /), twos(3) = (/ 2, 2, 2 /)
  integer :: places(3) = (/ 0, 2, 4 /), bytes(3) = (/ 0, 8, 16 /)
  HANDLE(MPI_Datatype) :: types(3)
  HANDLE(MPI_Request) :: request

  types = MPI_INTEGER
  in = me + 1
  if (me == 0) then
    call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INTEGER, in, counts, at, MPI_INTEGER, 0, &
                     MPI_COMM_WORLD IERR)
    call check(in(6) == 3, 'gatherv')
    call MPI_Scatterv(in, counts, at, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, 0, &
                      MPI_COMM_WORLD IERR)
  else
    call MPI_Gatherv(in, me + 1, MPI_INTEGER, in, counts, at, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    call MPI_Scatterv(in, counts, at, MPI_INTEGER, in, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  end if
  in = me + 1
  call MPI_Scan(MPI_IN_PLACE, in, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call check(in(5) == (me + 1) * (me + 2) / 2, 'scan')
  call MPI_Exscan(MPI_IN_PLACE, in, 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  in = me
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, in, 2, MPI_INTEGER, MPI_COMM_WORLD IERR)
  call check(in(1) == 0 .and. in(6) == 2, 'alltoall')
  call MPI_Alltoallv(MPI_IN_PLACE, twos, at, MPI_INTEGER, in, twos, places, MPI_INTEGER, &
                     MPI_COMM_WORLD IERR)
  call MPI_Alltoallw(MPI_IN_PLACE, twos, bytes, types, in, twos, bytes, types, MPI_COMM_WORLD IERR)
  in = me + 1
  call MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call check(in(1) == 6, 'reduce_scatter')
  call MPI_Reduce_scatter_block(MPI_IN_PLACE, in, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
  call MPI_Iallreduce(MPI_IN_PLACE, in, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Iscan(MPI_IN_PLACE, in, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INTEGER, in, 3, MPI_INTEGER, MPI_COMM_WORLD, &
                      request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INTEGER, in, 2, MPI_INTEGER, MPI_COMM_WORLD, &
                     request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  if (me == 1) then
    call MPI_Ireduce(MPI_IN_PLACE, in, 9, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, request IERR)
  else
    call MPI_Ireduce(in, in, 9, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, request IERR)
  end if
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
end subroutine in_place

! Each rank hears from the one on its left, and does not wait.
subroutine rings
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: out(64), in(64, 4)
  integer :: source(1), target(1), weight(1) = (/ 3 /), counts(1) = (/ 2 /), at(1) = (/ 1 /)
  HANDLE(MPI_Comm) :: graph
  HANDLE(MPI_Request) :: request(4)

  out = me
  source = mod(me + ranks - 1, ranks)
  target = mod(me + 1, ranks)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, weight, 1, target, weight, &
                                      MPI_INFO_NULL, .false., graph IERR)
  call MPI_Ineighbor_allgather(out, 2 + me, MPI_INTEGER, in, 2 + source(1), MPI_INTEGER, graph, &
                               request(1) IERR)
  call MPI_Ineighbor_allgatherv(out, 2, MPI_INTEGER, in(1, 2), counts, at, MPI_INTEGER, graph, &
                                request(2) IERR)
  call MPI_Ineighbor_alltoall(out, 3, MPI_INTEGER, in(1, 3), 3, MPI_INTEGER, graph, &
                              request(3) IERR)
  call MPI_Ineighbor_alltoallv(out, counts, at, MPI_INTEGER, in(1, 4), counts, at, MPI_INTEGER, &
                               graph, request(4) IERR)
  call MPI_Waitall(4, request, MPI_STATUSES_IGNORE IERR)
  call check(in(1, 1) == source(1) .and. in(3, 4) == source(1), 'around')
  call MPI_Comm_free(graph IERR)
end subroutine rings

subroutine epochs
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: space(64), out(64), in(64)
  integer :: round, right, left, one(1)
  integer(MPI_ADDRESS_KIND) :: at
  logical :: flag
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Group) :: all, to, from
  HANDLE(MPI_Request) :: request

  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  space = 0
  out = me
  at = 1
  call MPI_Win_create(space, int(256, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &
                      window IERR)
  call MPI_Win_get_group(window, all IERR)
  one = right
  call MPI_Group_incl(all, 1, one, to IERR)
  one = left
  call MPI_Group_incl(all, 1, one, from IERR)
  do round = 1, 2
    call MPI_Win_post(from, 0, window IERR)
    call MPI_Win_start(to, 0, window IERR)
    call MPI_Put(out, 2 + me, MPI_INTEGER, right, at, 2 + me, MPI_INTEGER, window IERR)
    call MPI_Win_complete(window IERR)
    if (round == 1) then
      call MPI_Win_wait(window IERR)
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Win_test(window, flag IERR)
      end do
    end if
    call check(space(2) == left, 'a put')
  end do
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window IERR)
  call MPI_Put(out, 4, MPI_INTEGER, right, at, 4, MPI_INTEGER, window IERR)
  call MPI_Win_flush(right, window IERR)
  call MPI_Win_flush_local(right, window IERR)
  call MPI_Win_unlock(right, window IERR)
  call MPI_Win_lock_all(MPI_MODE_NOCHECK, window IERR)
  call MPI_Rget_accumulate(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, left, at, 5, MPI_INTEGER, &
                           MPI_SUM, window, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Rget_accumulate(out, 0, MPI_INTEGER, in, 6, MPI_INTEGER, left, at, 6, MPI_INTEGER, &
                           MPI_NO_OP, window, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Win_flush_local_all(window IERR)
  call MPI_Win_flush_all(window IERR)
  call MPI_Win_sync(window IERR)
  call MPI_Win_unlock_all(window IERR)
  call MPI_Group_free(to IERR)
  call MPI_Group_free(from IERR)
  call MPI_Group_free(all IERR)
  call MPI_Win_free(window IERR)
end subroutine epochs

! Windows of memory that MPI makes, or that comes later.
subroutine memory
  use facts, only: me, ranks, check
  use, intrinsic :: iso_c_binding
#include "dialect.h"
  integer, volatile :: space(64), out(64)
  integer :: right, length, unit
  integer(MPI_ADDRESS_KIND) :: at, bytes, places(3)
  character(MPI_MAX_OBJECT_NAME) :: name
  logical :: flag
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Info) :: info
#ifdef MPIF_H
#define ADDRESS at
#else
#define ADDRESS pointer
  type(c_ptr) :: pointer
#endif

  right = mod(me + 1, ranks)
  out = me
  bytes = 256
  call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, ADDRESS, window IERR)
  call MPI_Win_shared_query(window, 0, bytes, unit, ADDRESS IERR)
  call check(bytes == 256 .and. unit == 4, 'shared')
  at = 0
  call MPI_Win_fence(0, window IERR)
  call MPI_Put(out, 3 + me, MPI_INTEGER, right, at, 3 + me, MPI_INTEGER, window IERR)
  call MPI_Win_fence(0, window IERR)
  call MPI_Win_set_name(window, 'a window' IERR)
  call MPI_Win_get_name(window, name, length IERR)
  call check(name(1:1) == 'a', 'name')
  call MPI_Win_get_info(window, info IERR)
  call MPI_Win_set_info(window, info IERR)
  call MPI_Info_free(info IERR)
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, at, flag IERR)
  call MPI_Win_free(window IERR)

  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window IERR)
  call MPI_Win_attach(window, space, bytes IERR)
  call MPI_Get_address(space, at IERR)
  call MPI_Allgather(at, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD IERR)
  call MPI_Win_lock_all(0, window IERR)
  call MPI_Put(out, 7, MPI_INTEGER, right, places(right + 1), 7, MPI_INTEGER, window IERR)
  call MPI_Win_unlock_all(window IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call check(space(7) == mod(me + ranks - 1, ranks), 'a put where memory came later')
  call MPI_Win_detach(window, space IERR)
  call MPI_Win_free(window IERR)
end subroutine memory

subroutine accesses
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: in(64), out(64)
  integer :: mode
  integer(MPI_OFFSET_KIND) :: at
  integer(MPI_ADDRESS_KIND) :: extent
  character(32) :: form
  logical :: flag
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Datatype) :: type, shape
  HANDLE(MPI_Group) :: group
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Request) :: request
  A_STATUS(status)

  out = me
  call MPI_File_open(MPI_COMM_WORLD, 'calls.data', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                     MPI_INFO_NULL, file IERR)
  at = 4096
  call MPI_File_preallocate(file, at IERR)
  call MPI_File_set_size(file, at IERR)
  call MPI_File_get_size(file, at IERR)
  call check(at == 4096, 'size')
  call MPI_File_get_amode(file, mode IERR)
  call check(mode == ior(MPI_MODE_CREATE, MPI_MODE_RDWR), 'mode')
  call MPI_File_get_group(file, group IERR)
  call MPI_Group_free(group IERR)
  call MPI_File_get_info(file, info IERR)
  call MPI_File_set_info(file, info IERR)
  call MPI_Info_free(info IERR)
  call MPI_File_set_atomicity(file, .true. IERR)
  call MPI_File_get_atomicity(file, flag IERR)
  call check(flag, 'atomicity')
  call MPI_File_set_atomicity(file, .false. IERR)
  call MPI_File_get_type_extent(file, MPI_INTEGER, extent IERR)
  call check(extent == 4, 'extent')
  at = 512 * me
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL IERR)
  call MPI_File_get_view(file, at, type, shape, form IERR)
  call check(at == 512 * me .and. form == 'native', 'view')
  call MPI_File_write(file, out, 3 + me, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call MPI_File_get_position(file, at IERR)
  call check(at == 3 + me, 'position')
  call MPI_File_get_byte_offset(file, at, at IERR)
  at = 0
  call MPI_File_seek(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read(file, in, 2, MPI_INTEGER, status IERR)
  call check(in(2) == me, 'read')
  call MPI_File_iwrite(file, out, 4, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_seek(file, at, MPI_SEEK_SET IERR)
  call MPI_File_iread(file, in, 5, MPI_INTEGER, request IERR)
  call MPI_Wait(request, status IERR)
  call MPI_File_iwrite_all(file, out, 6, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_iwrite_at_all(file, at, out, 7, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_iread_at_all(file, at, in, 7, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_seek(file, at, MPI_SEEK_SET IERR)
  call MPI_File_iread_all(file, in, 3, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_read_all(file, in, 2, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call MPI_File_read_at_all(file, at, in, 4, MPI_INTEGER, status IERR)

  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL IERR)
  call MPI_File_write_shared(file, out, 5, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call MPI_File_get_position_shared(file, at IERR)
  call check(at == 15, 'shared position')
  at = 0
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call MPI_File_seek_shared(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read_shared(file, in, 5, MPI_INTEGER, status IERR)
  call MPI_File_iwrite_shared(file, out, 2, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  call MPI_File_seek_shared(file, at, MPI_SEEK_SET IERR)
  call MPI_File_iread_shared(file, in, 2, MPI_INTEGER, request IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_File_write_ordered(file, out, 1 + me, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
  call MPI_File_seek_shared(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read_ordered(file, in, 1 + me, MPI_INTEGER, status IERR)
  call MPI_File_close(file IERR)
  call MPI_Barrier(MPI_COMM_WORLD IERR)
  if (me == 0) call MPI_File_delete('calls.data', MPI_INFO_NULL IERR)
end subroutine accesses

! Collective ones whose beginning is apart from their end.
subroutine splits
  use facts, only: me, ranks, check
#include "dialect.h"
  integer, volatile :: in(64), out(64)
  integer(MPI_OFFSET_KIND) :: at
  HANDLE(MPI_File) :: file
  A_STATUS(status)

  out = me
  call MPI_File_open(MPI_COMM_WORLD, 'calls.data', &
                     ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR, MPI_MODE_DELETE_ON_CLOSE)), &
                     MPI_INFO_NULL, file IERR)
  at = 512 * me
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL IERR)
  at = 0
  call MPI_File_write_all_begin(file, out, 3 + me, MPI_INTEGER IERR)
  call MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE IERR)
  call MPI_File_write_at_all_begin(file, at, out, 4, MPI_INTEGER IERR)
  call MPI_File_write_at_all_end(file, out, status IERR)
  call MPI_File_read_at_all_begin(file, at, in, 5, MPI_INTEGER IERR)
  call MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE IERR)
  call MPI_File_seek(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read_all_begin(file, in, 2, MPI_INTEGER IERR)
  call MPI_File_read_all_end(file, in, status IERR)
  call check(in(2) == me, 'read')
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL IERR)
  call MPI_File_write_ordered_begin(file, out, 1 + me, MPI_INTEGER IERR)
  call MPI_File_write_ordered_end(file, out, status IERR)
  call MPI_File_seek_shared(file, at, MPI_SEEK_SET IERR)
  call MPI_File_read_ordered_begin(file, in, 1 + me, MPI_INTEGER IERR)
  call MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE IERR)
  call check(in(1 + me) == me, 'in order')
  call MPI_File_close(file IERR)
end subroutine splits
