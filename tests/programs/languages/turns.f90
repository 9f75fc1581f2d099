! `!=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `!0N` is of a
! variable that optimisation may leave out.
module state_of
  implicit none
  type cell
     real(8) :: w(2:4) = 1
     logical(1) :: fine = .true.
  end type
  type(cell), save, volatile :: cells(3)
  real(8), allocatable, target, save :: density(:, :)
  integer, save, volatile :: level = 0
  logical(8), save, volatile :: whole = .true.
  complex(8), save, volatile :: z = (1, 0)
  logical(16), save, volatile :: wide = .true.
  character(4), save, volatile :: word = 'go'
  real(8), pointer, save :: row(:) => null()
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
       if (i == 30) s = zero / zero !030 s == s
       ok = s == s !030 ok
       narrow = i < 20 !020 narrow
       if (i == 25) cells(2)%w(3) = -1 !=25 cells(2)%w(3) > 0
       if (i == 26) cells(3)%fine = .false. !=26 cells(3)%fine
       if (i == 27) density(2, 3) = -1 !027 density(2,3) > 0 .and. level < 50
       if (i == 28) whole = .false. !=28 whole
       if (i == 29) field(1, 2) = -1 !029 .not. (field(1,2) < 0)
       level = i !=40 level < 40 .or. level == 0
       if (i == 33) z = (0, 0) !=33 real(z) > 0
       if (i == 34) wide = .false. !=34 wide
       if (i == 35) word = 'stop' !035 word == 'go  '
       if (i == 36) row(2) = -1 !036 row(2) > 0
       if (i == 37) density(3, :) = 0 !037 all(density(3,:) > 0)
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
  row => density(4, :)
  call work(60, grid)
end program
