! What a Fortran program may ask of rdb: the same as rdb.h.  Compile this file with the program.
module rdb
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: rdb_on, rdb_safe_point, rdb_checkpoint, rdb_generation, rdb_exclude, rdb_include, rdb_data
  public :: rdb_rows, rdb_block, rdb_cyclic, rdb_distribute, rdb_redistribute
  integer, parameter, public :: rdb_before_checkpoint = 0, rdb_after_checkpoint = 1, rdb_after_restart = 2

  abstract interface
    integer function callback()
    end function
  end interface
  type :: entry
    integer :: when
    procedure(callback), pointer, nopass :: call => null()
  end type
  integer, parameter :: most = 64
  type(entry), save :: list(most)
  integer, save :: n = 0, seen = 0
  logical, save :: used = .false., running = .false.

  ! The rows of an array that one rank has, in the order of its memory: `number` rows from row `first` on (the array's
  ! first row is 0), `block` of them behind each other; each next block begins `step` rows after the one before.
  type, bind(c) :: rdb_rows
    integer(c_long) :: first, number, block, step
  end type
  type, bind(c) :: part
    type(c_ptr) :: name, address
    integer(c_size_t) :: row
    type(rdb_rows) :: rows
  end type

  interface
    integer(c_int) function prctl(option, a, b, c, d) bind(c, name="prctl")
      import :: c_int, c_long
      integer(c_int), value :: option
      integer(c_long), value :: a, b, c, d
    end function
  end interface
  integer(c_int), parameter :: checkpoint_call = int(z'72646263'), hooks_call = int(z'72646268')

contains
  integer function hooks(what, a, b, c)
    integer, intent(in) :: what
    integer(c_long), intent(in) :: a, b, c
    hooks = prctl(hooks_call, int(what, c_long), a, b, c)
  end function

  ! The number of times that the program has been restarted; 0: never.
  integer function rdb_generation()
    rdb_generation = max(hooks(4, 0_c_long, 0_c_long, 0_c_long), 0)
  end function

  ! Checkpoints only at safe points from now on.  0; -1: not under rdb.
  integer function use_safe_points()
    use_safe_points = min(hooks(0, 0_c_long, 0_c_long, 0_c_long), 0)
    if (use_safe_points == 0 .and. .not. used) seen = rdb_generation()
    used = used .or. use_safe_points == 0
  end function

  ! 0; -1: not under rdb, or there are 64 callbacks already.
  integer function rdb_on(when, call)
    integer, intent(in) :: when
    procedure(callback) :: call
    rdb_on = -1
    if (n == most) return
    if (use_safe_points() /= 0) return
    n = n + 1
    list(n)%when = when
    list(n)%call => call
    rdb_on = 0
  end function

  logical function failed(when)
    integer, intent(in) :: when
    integer :: i, at
    failed = .false.
    do i = 1, n
      at = merge(n + 1 - i, i, when == rdb_before_checkpoint)
      if (list(at)%when /= when) cycle
      if (list(at)%call() /= 0) failed = .true.
    end do
  end function

  ! A failure of one afterwards changes nothing: rdb says so.
  subroutine run_after(when)
    integer, intent(in) :: when
    if (.not. failed(when)) return
    if (hooks(8, 0_c_long, int(when, c_long), 0_c_long) /= 0) continue
  end subroutine

  logical function restarted()
    restarted = rdb_generation() /= seen
    if (.not. restarted) return
    seen = rdb_generation()
    call run_after(rdb_after_restart)
  end function

  ! .true.: a checkpoint was taken, or asked for.
  logical function rdb_safe_point()
    rdb_safe_point = .false.
    if (.not. used .or. running) return
    running = .true.
    if (restarted()) continue
    if (hooks(1, 0_c_long, 0_c_long, 0_c_long) == 1) then
      if (failed(rdb_before_checkpoint)) then
        if (hooks(3, 0_c_long, 0_c_long, 0_c_long) /= 0) continue
      else
        rdb_safe_point = hooks(2, 0_c_long, 0_c_long, 0_c_long) == 0
      end if
      if (.not. restarted()) call run_after(rdb_after_checkpoint)
    end if
    running = .false.
  end function

  ! 0; -1: not under rdb.
  integer function rdb_checkpoint()
    rdb_checkpoint = prctl(checkpoint_call, 0_c_long, 0_c_long, 0_c_long, 0_c_long)
    if (rdb_checkpoint == 0) then
      if (rdb_safe_point()) continue
    end if
  end function

  ! Memory (c_loc() of an array, its length in bytes) that is zero after a restart.
  integer function rdb_exclude(address, length)
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: length
    rdb_exclude = min(hooks(5, transfer(address, 0_c_long), int(length, c_long), 0_c_long), 0)
  end function

  integer function rdb_include(address)
    type(c_ptr), intent(in) :: address
    rdb_include = min(hooks(6, transfer(address, 0_c_long), 0_c_long, 0_c_long), 0)
  end function

  ! Of `total` rows, those of `rank`: about as many for each of `ranks` ranks, in their order.
  type(rdb_rows) function rdb_block(total, rank, ranks)
    integer(c_long), intent(in) :: total
    integer, intent(in) :: rank, ranks
    integer(c_long) :: least, more, number
    least = total / ranks
    more = mod(total, int(ranks, c_long))
    number = least + merge(1, 0, rank < more)
    rdb_block = rdb_rows(least * rank + min(int(rank, c_long), more), number, number, number)
  end function

  ! Of `total` rows, those of `rank` when the ranks take `block` rows in turn.
  type(rdb_rows) function rdb_cyclic(total, block, rank, ranks)
    integer(c_long), intent(in) :: total, block
    integer, intent(in) :: rank, ranks
    integer(c_long) :: step, rest
    step = block * ranks
    rest = min(max(mod(total, step) - block * rank, 0_c_long), block)
    rdb_cyclic = rdb_rows(block * rank, total / step * block + rest, block, step)
  end function

  ! Has each checkpoint note these rows of the array `name` (address: c_loc() of their memory, row: bytes of a row), for
  ! an `rdb restart -n` with another number of ranks: that starts the program anew, and rdb_redistribute() gives it the
  ! rows.  The memory must stay where it is; a call without rows (number 0) says that the rank has none any more.
  ! Checkpoints are taken only at safe points from then on.  0; -1: not under rdb, or there are 64 such parts, or the
  ! arguments make no sense.
  integer function rdb_distribute(name, address, row, rows)
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: row
    type(rdb_rows), intent(in) :: rows
    rdb_distribute = told(9, name, address, row, rows)
    if (rdb_distribute == 0) rdb_distribute = use_safe_points()
  end function

  ! Fills the memory with these rows as they were at the checkpoint.  0; -1: the program was not started by
  ! `rdb restart -n`, or the array has no such rows, or its rows have another size.
  integer function rdb_redistribute(name, address, row, rows)
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: row
    type(rdb_rows), intent(in) :: rows
    rdb_redistribute = told(10, name, address, row, rows)
  end function

  integer function told(what, name, address, row, rows)
    integer, intent(in) :: what
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: row
    type(rdb_rows), intent(in) :: rows
    character(kind=c_char), target :: c_name(len(name) + 1)
    type(part), target :: given
    c_name = c_string(name)
    given = part(c_loc(c_name), address, row, rows)
    told = min(hooks(what, transfer(c_loc(given), 0_c_long), 0_c_long, 0_c_long), 0)
  end function

  function c_string(text)
    character(*), intent(in) :: text
    character(kind=c_char) :: c_string(len(text) + 1)
    integer :: i
    do i = 1, len(text)
      c_string(i) = text(i:i)
    end do
    c_string(len(text) + 1) = c_null_char
  end function

  ! The text of RDB_DATA_<name>, padded with blanks; its length; -1: it is not set, or not under rdb.
  integer function rdb_data(name, text)
    character(*), intent(in) :: name
    character(*), intent(out) :: text
    character(kind=c_char), target :: c_name(len(name) + 1), room(len(text) + 1)
    integer :: i
    c_name = c_string(name)
    text = ''
    rdb_data = hooks(7, transfer(c_loc(c_name), 0_c_long), transfer(c_loc(room), 0_c_long), int(size(room), c_long))
    do i = 1, min(rdb_data, len(text))
      text(i:i) = room(i)
    end do
  end function
end module
