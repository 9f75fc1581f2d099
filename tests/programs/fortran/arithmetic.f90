! Arrays that are computed with, some of which are named like functions.
module numbers
   implicit none
   type :: wave
      complex(8) :: c
      real(8) :: re
   end type
contains
   subroutine look(n)
      integer, intent(in) :: n
      if (n < 0) stop 1
   end subroutine
   subroutine step(u, n)
      real(8), intent(inout) :: u(0:, :)
      integer, intent(in) :: n
      u(1, 2) = u(1, 2)*n
      call look(n)
   end subroutine
end module

program main
   use numbers
   implicit none
   real(8) :: u(0:2, 4), v(-1:3)
   real(8), allocatable :: none(:)
   complex(8) :: z(3), w(3)
   type(wave) :: waves(4)
   integer :: k(5), i
   logical :: all(3), m(3)
   u = reshape([(real(i, 8), i=1, 12)], [3, 4])
   v = [2d0, -1d0, 7d0, 3d0, 7d0]
   k = [1, 2, 3, 4, -5]
   z = [(1d0, 2d0), (3d0, -4d0), (0d0, 1d0)]
   w = [(1d0, 2d0), (3d0, 5d0), (0d0, 1d0)]
   all = [.true., .false., .true.]
   m = [.true., .true., .false.]
   allocate (none(0))
   do i = 1, 4
      waves(i)%c = i*z(1)
      waves(i)%re = i
   end do
   do i = 1, 5
      call step(u, i)
   end do
   print *, v, k, z, w, waves%re, all, m, size(none)
end program
