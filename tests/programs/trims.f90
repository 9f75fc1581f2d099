! Prints comparisons with trim(), in the order of the test.
module words
  implicit none
  type item
    character(len=12) :: label
    character(len=5) :: parts(3)
  end type
  character(len=20) :: title = 'first'
contains
  subroutine step(i, s, of)
    integer, intent(in) :: i
    character(len=*), intent(in) :: s
    type(item), intent(inout) :: of
    character(len=8) :: mine
    mine = 'abc'
    if (i == 2) mine = 'two''s'
    of%label = trim(title) // 'x'
    of%parts(2) = mine(1:3)
    if (i == 3) title = 'third'
    print *, trim(mine) == 'abc', trim(title) == 'third', trim(of%label) == 'firstx', &
      trim(s) /= 'arg', trim(of%parts(2)) == trim(mine), 'abc' == trim(mine), &
      trim(mine) == s, trim(title) == 'third' .and. i > 2, .not. trim(mine) == 'abc', &
      trim(' abc') == mine, trim(mine) .ne. 'two''s', mine(6:7) == ''
    flush(6)
  end subroutine
end module
program main
  use words
  implicit none
  type(item) :: one
  integer :: i
  one%parts = ' '
  do i = 1, 4
    call step(i, 'arg ', one)
  end do
end program
