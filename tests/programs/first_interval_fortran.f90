! As first_interval.c.
module kept
  use iso_c_binding, only: c_int
  implicit none
  integer, parameter :: many = 6
  integer, volatile :: keys(many) = 0
  integer, volatile :: rank_of_five
  interface
    integer(c_int) function getppid() bind(C)
      import c_int
    end function
  end interface
end module

module sorting
  use kept
  implicit none
contains
  subroutine sort(seed, total)
    integer, intent(in) :: seed
    integer, intent(inout) :: total
    integer, volatile :: a(many)
    integer :: i, j, swapped
    a = 0
    do i = 1, many
      a(i) = mod((i - 1) * 7 + seed, 10)
    end do
    do i = 1, many
      do j = 1, many - i
        if (a(j) > a(j + 1)) then
          swapped = a(j)
          a(j) = a(j + 1)
          a(j + 1) = swapped
        end if
      end do
    end do
    do i = 1, many
      keys(i) = a(i) + 1
    end do
    rank_of_five = keys(5)
    a(3) = a(many) + 1 ! @local
    keys(5) = -rank_of_five ! @global
    total = total + getppid()
    total = total + a(1) + a(3)
  end subroutine

  subroutine fill(total)
    integer, intent(inout) :: total
    integer, volatile, allocatable :: cells(:)
    allocate (cells(2)) ! @given
    cells(1) = 7
    cells(2) = 5
    total = total + getppid()
    total = total + cells(1) + cells(2)
  end subroutine
end module

program first_interval
  use sorting
  implicit none
  integer :: total
  total = getppid()
  call sort(1, total)
  total = total + getppid()
  call fill(total)
  total = total + getppid()
  print *, total > 0
end program
