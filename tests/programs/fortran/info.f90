! What an info object answers: keys that it has and has not, numbers out of range, too little room.
program info
  use mpi
  implicit none
  integer :: object, copy, ierr, length, count, i
  logical :: there
  character(len=MPI_MAX_INFO_KEY) :: key
  character(len=40) :: value

  call MPI_Init(ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Info_create(object, ierr)
  call MPI_Info_set(object, '  first ', ' a value with blanks ', ierr)
  call MPI_Info_set(object, 'second', '2', ierr)
  call MPI_Info_dup(object, copy, ierr)
  call MPI_Info_set(copy, 'second', repeat('x', 30), ierr)

  call MPI_Info_get_nkeys(copy, count, ierr)
  do i = 0, count
    key = '?'
    call MPI_Info_get_nthkey(copy, i, key, ierr)
    print '(a,i0,3a,l1)', 'key ', i, ' [', trim(key), '] ', ierr == MPI_SUCCESS
  end do
  call show('first')
  call show('second')
  call show(' second ')
  call show('third')
  call MPI_Info_delete(copy, 'second', ierr)
  call show('second')
  call MPI_Info_free(copy, ierr)
  call MPI_Info_free(object, ierr)
  call MPI_Finalize(ierr)

contains
  subroutine show(name)
    character(len=*), intent(in) :: name

    value = '?'
    call MPI_Info_get(copy, name, len(value), value, there, ierr)
    print '(4a,l1)', name, ' get [', trim(value), '] ', there
    length = -1
    call MPI_Info_get_valuelen(copy, name, length, there, ierr)
    if (there) print '(2a,i0)', name, ' length ', length
    call text(0)
    call text(3)
    call text(len(value))
  end subroutine

  ! A function of MPI-4.
  subroutine text(room)
    integer, intent(in) :: room
#ifdef MPI_4
    integer :: used

    value = '?'
    used = room
    call MPI_Info_get_string(copy, 'second', used, value, there, ierr)
    print '(a,i0,3a,l1,1x,i0)', 'string ', room, ' [', trim(value), '] ', there, merge(used, -1, there)
#endif
  end subroutine
end program
