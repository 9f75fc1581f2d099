! Types that others extend, class(...), operators of C, procedures of modules.
module kinds
   implicit none
   type :: base
      integer :: n = 3
      character(len=8) :: label = 'first'
      real(8), allocatable :: val(:)
   end type
   type, extends(base) :: middle
      integer :: first = 10
   end type
   type, extends(middle) :: last
      real(8) :: own = 0.5d0
      type(middle) :: inner
   end type
   type(last), save, target :: global
contains
   subroutine look(item, x)
      class(base), intent(inout) :: item
      real(8), intent(in) :: x(:)
      real(8) :: mine
      mine = sum(x) ! @mine
      item%n = item%n + int(mine)
   end subroutine
end module

program main
   use kinds
   implicit none
   type(last) :: here, many(2)
   class(base), pointer :: view
   real(8) :: none, maxval_of
   integer :: i
   here%val = [1d0, 2d0, 3d0]
   global%val = [4d0, 5d0]
   many(2)%n = 7
   view => global
   none = 0
   maxval_of = none/none ! @made
   do i = 1, 4
      call look(here, here%val)
      if (i == 3) global%val(2) = maxval_of ! @nan
      if (getpid() < 0) stop 1
   end do
end program
