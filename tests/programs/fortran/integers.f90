! Generalized requests, whose functions are Fortran's, and MPI-1's keyvals: attributes are default integers; other
! functions of MPI-1; a file.
program integers
  implicit none
  include 'mpif.h'
  integer ierr, rank, req, key, val, status(MPI_STATUS_SIZE), comm, i
  integer(kind=MPI_ADDRESS_KIND) extra, av
  integer(kind=MPI_OFFSET_KIND) offset
  integer file, got, old(2), lengths(2), offsets(2), types(2), type, extent, handler
  integer old2(6), one(1), zero(1), kinds(1), reqs(6)
  character(len=1000) name
  logical there, flag
  external q, f, c, cp, de, fe
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  extra = 42
  call MPI_Grequest_start(q, f, c, extra, req, ierr)
  call MPI_Grequest_complete(req, ierr)
  call MPI_Wait(req, status, ierr)
  print *, rank, 'greq', status(MPI_TAG), req == MPI_REQUEST_NULL
  call MPI_Keyval_create(cp, de, key, 5, ierr)
  call MPI_Attr_put(MPI_COMM_WORLD, key, -7, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Attr_get(comm, key, val, there, ierr)
  print *, rank, 'attr', val, there
  call MPI_Comm_get_attr(comm, key, av, there, ierr)
  print *, rank, 'aint', av, there
  call MPI_Comm_free(comm, ierr)
  call MPI_Attr_delete(MPI_COMM_WORLD, key, ierr)
  call MPI_Keyval_free(key, ierr)
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0, ierr)
  call MPI_Attr_put(MPI_COMM_WORLD, key, -9, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Attr_get(comm, key, val, there, ierr)
  print *, rank, 'dup fn', val, there
  call MPI_Attr_delete(MPI_COMM_WORLD, key, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
  av = 5000000000_MPI_ADDRESS_KIND
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, av, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_get_attr(comm, key, av, there, ierr)
  print *, rank, 'comm dup fn', av, there
  call MPI_Comm_free(comm, ierr)
  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierr)
  call MPI_Type_set_attr(MPI_INTEGER, key, av, ierr)
  call MPI_Type_dup(MPI_INTEGER, type, ierr)
  call MPI_Type_get_attr(type, key, av, there, ierr)
  print *, rank, 'type null copy fn', there
  call MPI_Type_free(type, ierr)
  call get_command_argument(1, name)
  call MPI_File_open(MPI_COMM_SELF, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  offset = 16
  call MPI_File_write_at(file, offset, 1234, 1, MPI_INTEGER, status, ierr)
  call MPI_File_read_at(file, offset, got, 1, MPI_INTEGER, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, i, ierr)
  flag = file == MPI_FILE_NULL
  call MPI_File_close(file, ierr)
  print *, rank, 'file', got, i, flag, file == MPI_FILE_NULL
  call MPI_Address(old(1), offsets(1), ierr)
  call MPI_Address(old(2), offsets(2), ierr)
  offsets = offsets - offsets(1)
  lengths = 1
  types = MPI_INTEGER
  call MPI_Type_struct(2, lengths, offsets, types, type, ierr)
  call MPI_Type_extent(type, extent, ierr)
  call MPI_Type_free(type, ierr)
  call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Errhandler_get(MPI_COMM_WORLD, handler, ierr)
  print *, rank, 'mpi-1', extent, handler == MPI_ERRORS_RETURN
  ! one rank: each block is its own
  old = [7, 8]
  old2 = 0
  one = 1
  zero = 0
  kinds = MPI_INTEGER
  call MPI_Iallgatherv(old, 1, MPI_INTEGER, old2(1), one, zero, MPI_INTEGER, MPI_COMM_WORLD, reqs(1), ierr)
  call MPI_Ialltoallv(old, one, zero, MPI_INTEGER, old2(2), one, zero, MPI_INTEGER, MPI_COMM_WORLD, reqs(2), ierr)
  call MPI_Ialltoallw(old, one, zero, kinds, old2(3), one, zero, kinds, MPI_COMM_WORLD, reqs(3), ierr)
  call MPI_Igatherv(old, 1, MPI_INTEGER, old2(4), one, zero, MPI_INTEGER, 0, MPI_COMM_WORLD, reqs(4), ierr)
  call MPI_Iscatterv(old, one, zero, MPI_INTEGER, old2(5), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, reqs(5), ierr)
  call MPI_Ireduce_scatter(old, old2(6), one, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(6), ierr)
  call MPI_Waitall(6, reqs, MPI_STATUSES_IGNORE, ierr)
  call MPI_Send_init(old, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, reqs(1), ierr)
  call MPI_Recv_init(old2(6), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, reqs(2), ierr)
  do i = 1, 2
    call MPI_Startall(2, reqs, ierr)
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE, ierr)
  end do
  call MPI_Request_free(reqs(1), ierr)
  call MPI_Request_free(reqs(2), ierr)
#ifdef MPI_4
  call MPI_Alltoallv_init(old(2), one, zero, MPI_INTEGER, old2(1), one, zero, MPI_INTEGER, MPI_COMM_WORLD, &
       MPI_INFO_NULL, reqs(1), ierr)
  call MPI_Alltoallw_init(old(2), one, zero, kinds, old2(2), one, zero, kinds, MPI_COMM_WORLD, &
       MPI_INFO_NULL, reqs(2), ierr)
  do i = 1, 2
    call MPI_Startall(2, reqs, ierr)
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE, ierr)
  end do
  call MPI_Request_free(reqs(1), ierr)
  call MPI_Request_free(reqs(2), ierr)
#endif
  print *, rank, 'started', old2, all(reqs == MPI_REQUEST_NULL)
  call MPI_Finalize(ierr)
end program
subroutine q(extra, status, ierr)
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) extra
  integer status(MPI_STATUS_SIZE), ierr
  status(MPI_TAG) = extra + 1
  status(MPI_SOURCE) = 0
  call MPI_Status_set_cancelled(status, .false., ierr)
  call MPI_Status_set_elements(status, MPI_INTEGER, 0, ierr)
end subroutine
subroutine f(extra, ierr)
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) extra
  integer ierr
  print *, 'free', extra
  ierr = 0
end subroutine
subroutine c(extra, complete, ierr)
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) extra
  logical complete
  integer ierr
  ierr = 0
end subroutine
subroutine cp(comm, key, extra, in, out, flag, ierr)
  integer comm, key, extra, in, out, ierr
  logical flag
  out = in + extra
  flag = .true.
  ierr = 0
end subroutine
subroutine de(comm, key, val, extra, ierr)
  integer comm, key, val, extra, ierr
  print *, 'del', val, extra
  ierr = 0
end subroutine
