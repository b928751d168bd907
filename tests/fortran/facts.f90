! facts.f90 - what all groups of calls know, and how they fail.
module facts
  implicit none
  integer :: me, ranks
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    print '(2a)', 'FAIL ', what
    call exit(3)
  end subroutine check
end module facts
