! Components that only the type of the object has, not that of the class(...) variable; names that are words of GDB.
module shapes
   implicit none
   integer :: buffer(3) = 1 ! libc has a static of this name, too
   type, abstract :: shape
      integer :: id = 1
   end type
   type, extends(shape) :: ring
      real(8) :: c = 2d0
      integer :: rank = 3
   end type
   type, extends(ring) :: disc
      real(8), allocatable :: w(:)
      class(shape), allocatable :: hub
   end type
   type :: slot
      class(shape), allocatable :: f
   end type
contains
   subroutine spin(any_one, step)
      class(shape), intent(inout) :: any_one
      integer, intent(in) :: step
      select type (any_one) ! @spin
      class is (ring)
         if (step == 5) any_one%c = any_one%c - 4d0 ! @bad
         if (step == 6) buffer(2) = 9 ! @filled
      end select
   end subroutine
   subroutine roll(one, size)
      class(ring), intent(inout) :: one
      integer, intent(in) :: size(2)
      one%rank = one%id + size(2) ! @roll
   end subroutine
end module

program main
   use shapes
   implicit none
   type(slot) :: b(3)
   integer :: step, rank = 4, size(2) = [5, 6]
   allocate(ring :: b(1)%f)
   allocate(disc :: b(2)%f)
   select type (it => b(2)%f)
   type is (disc)
      it%w = [1d0, 2d0, 3d0]
      it%id = 7
      allocate(ring :: it%hub)
      call roll(it, size)
   end select
   do step = 1, 9
      call spin(b(2)%f, step)
      if (getpid() < 0) stop 1
      rank = rank + size(1)
   end do
   print *, rank
end program
