! Fortran 90's way.
program module
  use mpi
  implicit none
  integer :: ierr, rank, size, left, right, status(MPI_STATUS_SIZE), req(2), x, y, z, comm, n, op
  double precision :: v(3)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  external addup
  integer(kind=MPI_ADDRESS_KIND) :: value
  integer :: key, code, sent(2), got(2), counts(2), offsets(2)
  logical :: there
  character(len=20) :: text
  integer other, handler, type, types(2), info, window
  external copied, deleted, failed
  include 'body.inc'
  print '(i0,a,2i4)', rank, ': from ', status(MPI_SOURCE), status(MPI_TAG)
  include 'attributes.inc'
  call MPI_Op_free(op, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program

subroutine addup(a, b, len, type)
  integer :: len, type, a(len), b(len)
  b = a + b + 100
end subroutine

subroutine copied(comm, key, extra, value, new, there, ierr)
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
  integer :: comm
  integer :: key, ierr
  integer(kind=MPI_ADDRESS_KIND) :: extra, value, new
  logical :: there
  new = value + extra
  there = .true.
  ierr = MPI_SUCCESS
end subroutine

subroutine deleted(comm, key, value, extra, ierr)
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
  integer :: comm
  integer :: key, ierr
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  print '(a,2i12)', 'deleting ', value, extra
  ierr = MPI_SUCCESS
end subroutine

subroutine failed(comm, code)
  use mpi, only: MPI_SUCCESS
  integer :: comm
  integer :: code
  print '(a)', 'handler'
end subroutine
