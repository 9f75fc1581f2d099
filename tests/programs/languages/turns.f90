! `!= EXPRESSION` marks the statement that first makes it false; `!0` only without optimisation.
module state_of
  implicit none
  type cell
     real(8) :: w(2:4) = 1
     logical(1) :: fine = .true.
  end type
  type(cell), save, volatile :: cells(3)
  real(8), allocatable, save :: density(:, :)
  integer, save, volatile :: level = 0
  logical(8), save, volatile :: whole = .true.
  complex(8), save, volatile :: z = (1, 0)
contains
  subroutine work(steps, field)
    integer, intent(in) :: steps
    real(8), intent(inout) :: field(0:, :)
    real(8) :: s, zero
    logical :: ok
    logical(2) :: narrow
    integer :: i
    s = 1
    zero = 0
    ok = .true.
    narrow = .true.
    do i = 1, steps
       s = s + 0.5d0
       if (i == 30) s = zero / zero !0 s == s
       ok = s == s !0 ok
       narrow = i < 20 !0 narrow
       if (i == 25) cells(2)%w(3) = -1 != cells(2)%w(3) > 0
       if (i == 26) cells(3)%fine = .false. != cells(3)%fine
       if (i == 27) density(2, 3) = -1 !0 density(2,3) > 0 .and. level < 50
       if (i == 28) whole = .false. != whole
       if (i == 29) field(1, 2) = -1 !0 .not. (field(1,2) < 0)
       level = i != level < 40 .or. level == 0
       if (i == 33) z = (0, 0) != $_creal(z) > 0
       call event
    end do
    if (.not. (ok .or. narrow .or. s > 0)) level = 0
  end subroutine
  subroutine event
    interface
       integer(4) function getppid() bind(c)
       end function
    end interface
    integer(4) :: who
    who = getppid()
    if (who < 0) level = 0
  end subroutine
end module

program turns
  use state_of
  implicit none
  real(8) :: grid(4, 3)
  grid = 1
  allocate (density(4, 4))
  density = 1
  call work(60, grid)
end program
