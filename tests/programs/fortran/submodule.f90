! A variable of a submodule, which no procedure with events sees.
module mesh
   implicit none
   interface
      module subroutine relax(n)
         integer, intent(in) :: n
      end subroutine
   end interface
end module

submodule(mesh) relaxing
   implicit none
   real(8), save :: worst = 0
contains
   module procedure relax
   worst = worst + n ! @changed
   end procedure
end submodule

program main
   use mesh
   implicit none
   integer :: i
   do i = 1, 9
      call relax(i)
      call flush(6)
      if (getpid() < 0) stop 1
   end do
end program
