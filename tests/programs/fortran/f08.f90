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

  subroutine copied(comm, key, extra, value, new, there, ierr)
    use mpi_f08, only: MPI_ADDRESS_KIND, MPI_SUCCESS, MPI_Comm
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, new
    logical :: there
    new = value + extra
    there = .true.
    ierr = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, key, value, extra, ierr)
    use mpi_f08, only: MPI_ADDRESS_KIND, MPI_SUCCESS, MPI_Comm
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    print '(a,2i12)', 'deleting ', value, extra
    ierr = MPI_SUCCESS
  end subroutine

  subroutine failed(comm, code)
    use mpi_f08, only: MPI_SUCCESS, MPI_Comm
    type(MPI_Comm) :: comm
    integer :: code
    print '(a)', 'handler'
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
  integer(kind=MPI_ADDRESS_KIND) :: value
  integer :: key, code, sent(2), got(2), counts(2), offsets(2)
  logical :: there
  character(len=20) :: text
  type(MPI_Comm) :: other
  type(MPI_Errhandler) :: handler
  type(MPI_Datatype) :: type, types(2)
  type(MPI_Info) :: info
  type(MPI_Win) :: window
  include 'body.inc'
  print '(i0,a,2i4)', rank, ': from ', status%MPI_SOURCE, status%MPI_TAG
  include 'attributes.inc'
  sent = rank
  got = 0
  counts = 1
  call MPI_Dist_graph_create(comm, 1, sent, counts, got, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., other, ierr)
  call MPI_Dist_graph_neighbors_count(other, x, y, there, ierr)
  print '(i0,a,2i4,l2)', rank, ': neighbours ', x, y, there
  call MPI_Comm_free(other, ierr)
  call MPI_Op_free(op, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program
