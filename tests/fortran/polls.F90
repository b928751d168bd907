! polls.F90 - loops of calls that ask, as polls.c makes them: first in vain, then not.
program polls
  use facts, only: me
#include "dialect.h"

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me IERR)
  call all_of_them(.false.)
  call all_of_them(.true.)
  call MPI_Finalize(ierr)
  if (me == 0) print '(a)', 'OK'
contains
  subroutine all_of_them(wanted)
    logical, intent(in) :: wanted

    call test(wanted)
    call testall(3, wanted)
    call testany(3, wanted)
    call testany(20, wanted)
    call testsome(3, wanted)
    call probe(wanted)
  end subroutine all_of_them
end program polls

module requests
  implicit none
  integer, parameter :: asked = 150
  integer, asynchronous :: in(8, 20), out(8)
end module requests

subroutine post(n, request)
  use requests
#include "dialect.h"
  integer, intent(in) :: n
  HANDLE(MPI_Request), intent(out) :: request(20)
  integer :: i

  do i = 1, n
    call MPI_Irecv(in(:, i), 8, MPI_INTEGER, 0, i - 1, MPI_COMM_SELF, request(i) IERR)
  end do
end subroutine post

subroutine answer(n)
  use requests
#include "dialect.h"
  integer, intent(in) :: n
  integer :: i

  do i = 1, n
    call MPI_Send(out, 1 + mod(i - 1, 5), MPI_INTEGER, 0, i - 1, MPI_COMM_SELF IERR)
  end do
end subroutine answer

subroutine test(wanted)
  use facts, only: check
  use requests
#include "dialect.h"
  logical, intent(in) :: wanted
  HANDLE(MPI_Request) :: request(20)
  A_STATUS(status)
  logical :: flag
  integer :: i

  call post(1, request)
  do i = 1, asked + 1
    if (i == asked + 1) call answer(1)
    if (wanted) then
      call MPI_Test(request(1), flag, status IERR)
    else
      call MPI_Test(request(1), flag, MPI_STATUS_IGNORE IERR)
    end if
    call check(flag .eqv. i > asked, 'test')
  end do
end subroutine test

subroutine testall(n, wanted)
  use facts, only: check
  use requests
#include "dialect.h"
  integer, intent(in) :: n
  logical, intent(in) :: wanted
  HANDLE(MPI_Request) :: request(20)
  STATUSES(status, 20)
  logical :: flag
  integer :: i

  call post(n, request)
  do i = 1, asked + 1
    if (i == asked + 1) call answer(n)
    if (wanted) then
      call MPI_Testall(n, request, flag, status IERR)
    else
      call MPI_Testall(n, request, flag, MPI_STATUSES_IGNORE IERR)
    end if
    call check(flag .eqv. i > asked, 'testall')
  end do
end subroutine testall

subroutine testany(n, wanted)
  use facts, only: check
  use requests
#include "dialect.h"
  integer, intent(in) :: n
  logical, intent(in) :: wanted
  HANDLE(MPI_Request) :: request(20)
  A_STATUS(status)
  logical :: flag
  integer :: i, at

  call post(n, request)
  do i = 1, asked + n
    if (i == asked + 1) call answer(n)
    if (wanted) then
      call MPI_Testany(n, request, at, flag, status IERR)
    else
      call MPI_Testany(n, request, at, flag, MPI_STATUS_IGNORE IERR)
    end if
    call check(flag .eqv. i > asked, 'testany')
  end do
end subroutine testany

subroutine testsome(n, wanted)
  use facts, only: check
  use requests
#include "dialect.h"
  integer, intent(in) :: n
  logical, intent(in) :: wanted
  HANDLE(MPI_Request) :: request(20)
  STATUSES(status, 20)
  integer :: i, done, at(20)

  call post(n, request)
  do i = 1, asked + 1
    if (i == asked + 1) call answer(n)
    if (wanted) then
      call MPI_Testsome(n, request, done, at, status IERR)
    else
      call MPI_Testsome(n, request, done, at, MPI_STATUSES_IGNORE IERR)
    end if
    call check(done == merge(n, 0, i > asked), 'testsome')
  end do
end subroutine testsome

subroutine probe(wanted)
  use facts, only: check
  use requests
#include "dialect.h"
  logical, intent(in) :: wanted
  HANDLE(MPI_Request) :: sent
  HANDLE(MPI_Message) :: message
  logical :: flag
  integer :: i

  do i = 1, asked
    call look(1, flag)
    call check(.not. flag, 'iprobe')
  end do
  call MPI_Isend(out, 6, MPI_INTEGER, 0, 1, MPI_COMM_SELF, sent IERR)
  call look(1, flag)
  call check(flag, 'iprobe')
  do i = 1, asked
    call take(2, flag)
    call check(.not. flag, 'improbe')
  end do
  call take(1, flag)
  call check(flag, 'improbe')
  call MPI_Mrecv(in(:, 1), 8, MPI_INTEGER, message, MPI_STATUS_IGNORE IERR)
  call MPI_Wait(sent, MPI_STATUS_IGNORE IERR)
contains
  subroutine look(tag, flag)
    integer, intent(in) :: tag
    logical, intent(out) :: flag
    A_STATUS(status)

    if (wanted) then
      call MPI_Iprobe(0, tag, MPI_COMM_SELF, flag, status IERR)
    else
      call MPI_Iprobe(0, tag, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE IERR)
    end if
  end subroutine look

  subroutine take(tag, flag)
    integer, intent(in) :: tag
    logical, intent(out) :: flag
    A_STATUS(status)

    if (wanted) then
      call MPI_Improbe(0, tag, MPI_COMM_SELF, flag, message, status IERR)
    else
      call MPI_Improbe(0, tag, MPI_COMM_SELF, flag, message, MPI_STATUS_IGNORE IERR)
    end if
  end subroutine take
end subroutine probe
