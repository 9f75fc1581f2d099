! A dummy argument of class(...), for which the caller makes a descriptor at each call.
module fields
  implicit none
  type :: field
     real(8), allocatable :: u(:)
  end type
  type :: box
     class(field), allocatable :: f
  end type
contains
  subroutine exchange(f)
    class(field), intent(inout) :: f
    integer :: ignored
    ignored = getpid()
    f%u(1) = f%u(4)
  end subroutine

  subroutine look(one)
    class(field), intent(in) :: one
    integer :: ignored
    ignored = getpid() + size(one%u)
  end subroutine

  subroutine advance(f, turn)
    class(field), intent(inout) :: f
    integer, intent(in) :: turn
    f%u(2:3) = 0.5d0 * f%u(2:3) + 1
    if (turn == 13) f%u(3) = -7 ! wrong
  end subroutine
end module

program main
  use fields
  implicit none
  type(box) :: boxes(2)
  class(field), allocatable :: alone
  integer :: i, k
  allocate(alone)
  allocate(alone%u(4), source=1d0)
  do k = 1, 2
     allocate(boxes(k)%f)
     allocate(boxes(k)%f%u(4), source=1d0)
  end do
  do i = 1, 30
     call look(alone)
     call advance(alone, i)
     do k = 1, 2
        call exchange(boxes(k)%f)
        call advance(boxes(k)%f, i*k/2)
     end do
  end do
end program
