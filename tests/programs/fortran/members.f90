! Structures in arrays: each element is made of its own indices.
module kinds
   implicit none
   type :: point
      real(8) :: x
   end type
   type :: particle
      integer :: id
      type(point) :: place
      integer :: w(2, 3)
      logical :: ok
   end type
   type :: room
      type(particle), allocatable :: parts(:)
   end type
contains
   subroutine look(n)
      integer, intent(in) :: n
      if (n < 0) stop 1
   end subroutine
end module

program main
   use kinds
   implicit none
   type(particle), allocatable :: parts(:)
   type(particle) :: grid(1:2, -1:1)
   type(room) :: block
   integer :: i, j, k
   allocate (parts(4:7))
   do i = 4, 7
      parts(i)%id = i
      parts(i)%place%x = i + 0.5d0
      do j = 1, 3
         do k = 1, 2
            parts(i)%w(k, j) = 100*i + 10*k + j
         end do
      end do
   end do
   grid%ok = .true.
   grid(2, 0)%ok = .false.
   block%parts = parts
   call look(size(block%parts))
end program
