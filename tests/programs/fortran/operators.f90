! Prints what its operators make of numbers.
program operators
   implicit none
   type :: t
      integer :: n = 0
      logical :: flag = .true.
      real(8) :: v(3) = [1d0, 2d0, 3d0]
   end type
   type(t) :: a
   integer :: i
   do i = 3, 6
      a%n = i ! @made
      if (getpid() < 0) stop 1 ! @here
      if (i > 3) cycle
      print '(*(i0, 1x))', -a%n, 2 - (-a%n), nint(-a%v(2)), one(.not. a%flag), one(.not. a%n == 4), &
         one(.not. i == 1 .and. .not. i == 2), one(.not. i == 3 .or. i == 3), one((.not. i == 4) .and. i == 3), &
         -i**2, 10 - i**2, one(-a%n**2 < 0), -2*i, one(i == 3 .eqv. a%n == 3), one(i == 3 .neqv. .not. a%n == 3), &
         one(i > 2.and.a%n < 4.and.i /= 5), one(all(.not. a%v > 3.and.a%v > 0.5)), &
         one(any(.not. a%v > 1 .and. a%v > 2)), count(.not. a%v == 2), nint(maxval(-a%v))
   end do
contains
   integer function one(is)
      logical, intent(in) :: is
      one = merge(1, 0, is)
   end function
end program
