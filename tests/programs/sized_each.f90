! Arrays of a type whose elements have arrays of their own sizes.
program sized_each
  implicit none
  type :: part
    integer :: id = 0
    real(8), allocatable :: w(:)
  end type
  type :: system
    type(part), allocatable :: parts(:)
    type(part) :: pair(2:3)
    type(part) :: grid(2, 2)
    type(part), allocatable :: none(:)
  end type
  type(system) :: all
  integer :: i, j
  allocate(all%parts(3))
  do i = 1, 3
    allocate(all%parts(i)%w(i))
    all%parts(i)%w = i
  end do
  do i = 2, 3
    allocate(all%pair(i)%w(i))
    all%pair(i)%w = 10 * i
  end do
  do j = 1, 2
    do i = 1, 2
      allocate(all%grid(i, j)%w(i))
      all%grid(i, j)%w = 10 * i + j
    end do
  end do
  deallocate(all%pair(3)%w)
  print *, 'done'
end program
