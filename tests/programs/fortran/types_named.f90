! Variables with names of types, which GDB looks for first.
module meshes
   implicit none
   type :: list
      integer :: n = 1
   end type
   type :: node
      real(8) :: x = 0
   end type
   type :: state
      integer :: list(2) = [1, 2]
      integer :: node = 3
   end type
   type :: color
      integer :: n = 1
   end type
contains
   subroutine relax(node, step)
      real(8), intent(inout) :: node(:)
      integer, intent(in) :: step
      type(state) :: list
      integer, pointer :: color
      allocate(color)
      color = step
      list%list(2) = 10*step
      node(2) = node(2) - 1 ! @stored
      if (getpid() < 0) stop 1 ! @called
      call inner()
   contains
      subroutine inner()
         integer :: state
         state = list%node + step ! @inner
         list%node = state
      end subroutine
   end subroutine
end module

program types_named
   use meshes, only: relax
   implicit none
   real(8) :: node(3) = 5
   integer :: step
   do step = 1, 9
      call relax(node, step)
   end do
   print *, node
end program
