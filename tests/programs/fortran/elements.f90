! Each element is made of its own indices: what a debugger calls it can be checked by its value.
module state
  implicit none
  type cell
    real(8) :: w(2, 0:2)
    character(len=4) :: tag
    logical :: on
  end type
  type(cell) :: sub(-1:1)
  integer(8), allocatable :: cube(:, :, :)
  logical :: ready
  character(len=3) :: names(2)
end module

program elements
  use state
  implicit none
  real(8), target :: grid(-1:2, 3)
  real(8), pointer :: part(:, :)
  integer :: i, j, k
  allocate (cube(0:2, 5:6, -1:0))
  do i = -1, 1
    sub(i)%w = reshape([((1000*i + 100*j + k, j=1, 2), k=0, 2)], [2, 3])
    sub(i)%tag = 'abcd'
    sub(i)%on = .true.
  end do
  grid = reshape([((100*j + k, j=-1, 2), k=1, 3)], [4, 3])
  cube = reshape([(((100*i + 10*j + k, i=0, 2), j=5, 6), k=-1, 0)], [3, 2, 2])
  part => grid(-1:2:2, 2:3)
  names = ['one', 'two']
  ready = .true.
  call look(grid(0:2, :))
  print *, part(2, 1), cube(1, 5, 0), sub(0)%w(1, 1), ready
contains
  subroutine look(a)
    real(8), intent(in) :: a(0:, :)
    print *, sum(a)
  end subroutine
end program
