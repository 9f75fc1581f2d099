! What has no target: arrays and scalars that are allocated late, pointers, optional arguments.
module absent
  use iso_c_binding
  implicit none
  interface
    function getppid() bind(c)
      import
      integer(c_int) :: getppid
    end function
  end interface
  type cell
    real(8), allocatable :: w(:)
    real(8), pointer :: q(:) => null()
  end type
  real(8), allocatable :: a(:), s
  real(8), pointer :: p(:) => null(), sp => null()
  type(cell) :: c
contains
  subroutine look(ol, o, oa)
    real(8), allocatable :: ol(:)
    real(8), optional :: o, oa(:)
    integer :: k
    k = getppid()
    if (present(o)) o = o + k
    if (present(oa)) oa = oa + k
  end subroutine
end module
program main
  use absent
  implicit none
  real(8), allocatable :: mine(:)
  real(8), target :: field(3), kept
  integer :: n
  field = 2
  call look(mine)
  allocate(a(3), s, c%w(2), mine(4))
  p => field
  sp => kept
  c%q => field
  do n = 1, 5
    a = n
    s = n
    c%w = n
    mine = n
    sp = n
    call look(mine, field(1), field)
  end do
  deallocate(a, s, c%w)
  nullify(p, sp, c%q)
  call look(mine)
end program
