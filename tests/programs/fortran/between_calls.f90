! As between_calls.c, of dummy arguments.
module fields
  implicit none
  type field
     integer :: turns
     real(8) :: peak
     real(8), allocatable :: u(:,:)
  end type
contains
  subroutine exchange(f, w, n)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    real(8), intent(inout) :: w(0:n+1)
    integer :: ignored
    ignored = getpid()
    w(0) = w(n)
    f%turns = f%turns + 1
  end subroutine

  subroutine advance(g, v, n)
    type(field), intent(inout) :: g
    integer, intent(in) :: n
    real(8), intent(inout) :: v(0:n+1)
    v(1:n) = 0.5d0 * v(1:n) + 1
    g%peak = maxval(v(1:n))
    if (g%turns == 13) v(3) = -7        ! wrong
    if (g%turns == 17) g%u(2, 3) = -1   ! too low
    if (g%turns == 21) g%peak = 99      ! too high
  end subroutine
end module

program main
  use fields
  implicit none
  type(field) :: a
  real(8), allocatable :: work(:)
  integer :: i
  allocate(a%u(4, 5), work(0:11))
  a%turns = 0
  a%peak = 0
  a%u = 1
  work = 1
  do i = 1, 30
     call exchange(a, work, 10)
     call advance(a, work, 10)
  end do
end program
