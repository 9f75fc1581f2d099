! Fortran 90's way.
program module
  use mpi
  implicit none
  integer :: ierr, rank, size, left, right, status(MPI_STATUS_SIZE), req(2), x, y, z, comm, n, op
  double precision :: v(3)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  external addup
  include 'body.inc'
  print '(i0,a,2i4)', rank, ': from ', status(MPI_SOURCE), status(MPI_TAG)
  call MPI_Op_free(op, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program

subroutine addup(a, b, len, type)
  integer :: len, type, a(len), b(len)
  b = a + b + 100
end subroutine
