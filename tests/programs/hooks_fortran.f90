! Callbacks in Fortran.  argv: the file that it waits for.
module calls
  implicit none
  integer :: before = 0, after = 0, restarts = 0
contains
  integer function on_before()
    before = before + 1
    on_before = 0
  end function
  integer function on_after()
    after = after + 1
    on_after = 0
  end function
  integer function on_restart()
    restarts = restarts + 1
    on_restart = 1 ! it has failed
  end function
end module

program hooks_fortran
  use rdb
  use calls
  use, intrinsic :: iso_c_binding
  implicit none
  character(256) :: gate
  character(16) :: text
  logical :: there
  integer :: under(4), length
  real(8), allocatable, target :: work(:)
  allocate(work(1000000))
  work = 1
  call get_command_argument(1, gate)
  under(1) = rdb_on(rdb_before_checkpoint, on_before)
  under(2) = rdb_on(rdb_after_checkpoint, on_after)
  under(3) = rdb_on(rdb_after_restart, on_restart)
  under(4) = rdb_exclude(c_loc(work), int(size(work) * 8, c_size_t))
  print '(a,4i3)', 'there', under
  flush (6)
  do
    inquire (file=gate, exist=there)
    if (there) exit
    if (rdb_safe_point()) continue
  end do
  if (rdb_safe_point()) continue
  length = rdb_data('answer', text)
  print '(a,i2,2l2,i2,a,i3,1x,a,l2)', 'over', rdb_generation(), before > 0, after > 0, restarts, ' given', length, &
    trim(text), work(500000) == 0
end program
