! Arrays of class(...), whose elements are of a longer type; texts that only that type has.
module shapes
   implicit none
   type :: shape
      integer :: id = 0
   end type
   type, extends(shape) :: ring
      real(8) :: radius = 1
      character(:), allocatable :: note
   end type
   type, extends(ring) :: disc
      real(8) :: w = 2
   end type
   type :: box
      class(shape), allocatable :: items(:)
   end type
contains
   subroutine look(n)
      integer, intent(in) :: n
      if (n < -1000) stop 1
   end subroutine
   subroutine step(xs, grid, b, rs)
      class(shape), intent(inout) :: xs(:), grid(0:, :)
      class(ring), intent(inout) :: rs(:)
      type(box), intent(inout) :: b
      integer :: real
      real = xs(2)%id
      xs(2)%id = xs(2)%id + 100 ! @changed
      call look(real + grid(0, 1)%id + size(b%items) + size(rs))
   end subroutine
end module

program main
   use shapes
   implicit none
   type(ring) :: rings(4), grid(2, 3)
   type(disc) :: discs(3), others(2)
   type(box) :: b
   integer :: i
   do i = 1, 4
      rings(i)%id = i
      rings(i)%radius = i*1.5d0
      rings(i)%note = 'n'//char(48 + i)
   end do
   grid%id = reshape([1, 2, 3, 4, 5, 6], [2, 3])
   discs%id = [7, 8, 9]
   allocate (b%items(3), source=rings(1:3))
   call step(rings, grid, b, discs)
   call step(rings(1:4:2), grid, b, discs)
   others%radius = [3, 4]
   call step(others, grid, b, discs)
   print *, rings%id
end program
