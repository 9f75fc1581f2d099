! Fortran 2008's way: handles are types.
module ops
contains
  subroutine addup(a, b, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    use mpi_f08
    type(c_ptr), value :: a, b
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(a, from, [len])
    call c_f_pointer(b, to, [len])
    to = from + to + 100
  end subroutine
end module

program f08
  use mpi_f08
  use ops
  implicit none
  integer :: ierr, rank, size, left, right, x, y, z, n
  type(MPI_Status) :: status
  type(MPI_Request) :: req(2)
  type(MPI_Comm) :: comm
  type(MPI_Op) :: op
  double precision :: v(3)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  include 'body.inc'
  print '(i0,a,2i4)', rank, ': from ', status%MPI_SOURCE, status%MPI_TAG
  call MPI_Op_free(op, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program
