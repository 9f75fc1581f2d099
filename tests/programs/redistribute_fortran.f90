include 'rdb.f90'

! Each rank of a launcher adds 1 to its columns of an array four times; rdb_redistribute() gives it those of before.
program redistribute
  use rdb
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_long), parameter :: total = 11
  integer, parameter :: height = 3
  integer(c_size_t), parameter :: column = height * 8
  integer :: rank, ranks, i
  integer(c_int64_t), target :: step
  integer(c_int64_t), allocatable, target :: a(:, :)
  type(rdb_rows) :: mine, once
  rank = number_of('OMPI_COMM_WORLD_RANK', 0)
  ranks = number_of('OMPI_COMM_WORLD_SIZE', 1)
  once = rdb_block(1_c_long, 0, 1)
  mine = rdb_cyclic(total, 2_c_long, rank, ranks)
  allocate (a(height, max(mine%number, 1_c_long)))
  a = 0
  step = 0
  if (rdb_redistribute('step', c_loc(step), 8_c_size_t, once) == 0) then
    if (rdb_redistribute('a', c_loc(a), column, mine) /= 0) error stop 3
  else
    do i = 1, int(mine%number)
      a(:, i) = mine%first + (i - 1) / mine%block * mine%step + mod(i - 1_c_long, mine%block)
    end do
  end if
  if (rdb_distribute('step', c_loc(step), 8_c_size_t, once) /= 0) error stop 4
  if (rdb_distribute('a', c_loc(a), column, mine) /= 0) error stop 5
  do while (step < 4)
    a = a + 10
    step = step + 1
    if (step == 2 .and. ranks == 1) then
      if (rdb_checkpoint() /= 0) error stop 6
    end if
  end do
  do i = 1, int(mine%number)
    print '(a, 3(1x, i0))', 'row', a(:, i)
  end do
contains
  integer function number_of(name, otherwise)
    character(*), intent(in) :: name
    integer, intent(in) :: otherwise
    character(20) :: text
    integer :: wrong
    number_of = otherwise
    call get_environment_variable(name, text, status=wrong)
    if (wrong == 0) read (text, *) number_of
  end function
end program
