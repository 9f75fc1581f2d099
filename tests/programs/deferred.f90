! Components that are texts of deferred length.  Each step prints what the comparisons are.
module items
  implicit none
  type :: named
    character(len=:), allocatable :: label
    integer :: n = 0
  end type
  type, extends(named) :: item
    character(len=:), pointer :: alias => null()
    type(named) :: parts(2)
  end type
  type(item), save :: one
contains
  subroutine step(x, other)
    class(named), intent(in) :: x
    type(item), intent(in) :: other
    print *, x%label == 'disc', other%label /= 'disc', other%parts(2)%label == 'second', &
      other%alias == 'room', other%parts(other%n)%label == other%label, one%label == ''
  end subroutine
end module

program deferred
  use items
  implicit none
  character(len=4), target :: room = 'room'
  character(len=9), target :: hall = 'long hall'
  one%n = 1
  one%parts(1)%label = 'disc'
  one%parts(2)%label = 'second one'
  one%label = 'disc' ! here: label
  one%alias => room
  call step(one, one)
  one%label = 'a longer text' ! here: longer
  one%parts(2)%label = 'second'
  call step(one, one)
  one%label = '' ! here: empty
  one%alias => hall
  call step(one, one)
  one%label = 'disc  '
  one%n = 2
  call step(one, one)
end program
