! A text that optimization keeps nowhere.
subroutine advance(i)
   implicit none
   integer, intent(in) :: i
   character(len=6) :: phase
   phase = 'FACTOR'
   if (getpid() < 0) print *, i ! @here
   phase = 'DONE'
end subroutine

program lost_texts
   implicit none
   integer :: i
   do i = 1, 3
      call advance(i)
   end do
end program
