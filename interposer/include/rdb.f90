! What a Fortran program may ask of rdb: the same as rdb.h.  Compile this file with the program.
module rdb
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: rdb_on, rdb_safe_point, rdb_checkpoint, rdb_generation, rdb_exclude, rdb_include, rdb_data
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
  logical, save :: running = .false.

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

  ! 0; -1: not under rdb, or there are 64 callbacks already.
  integer function rdb_on(when, call)
    integer, intent(in) :: when
    procedure(callback) :: call
    rdb_on = -1
    if (n == most) return
    if (hooks(0, 0_c_long, 0_c_long, 0_c_long) /= 0) return
    if (n == 0) seen = rdb_generation()
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
    if (n == 0 .or. running) return
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

  ! The text of RDB_DATA_<name>, padded with blanks; its length; -1: it is not set, or not under rdb.
  integer function rdb_data(name, text)
    character(*), intent(in) :: name
    character(*), intent(out) :: text
    character(kind=c_char), target :: c_name(len(name) + 1), room(len(text) + 1)
    integer :: i
    do i = 1, len(name)
      c_name(i) = name(i:i)
    end do
    c_name(len(name) + 1) = c_null_char
    text = ''
    rdb_data = hooks(7, transfer(c_loc(c_name), 0_c_long), transfer(c_loc(room), 0_c_long), int(size(room), c_long))
    do i = 1, min(rdb_data, len(text))
      text(i:i) = room(i)
    end do
  end function
end module
