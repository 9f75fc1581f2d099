! Generalized requests, whose functions are Fortran's, and MPI-1's keyvals: attributes are default integers.
program integers
  implicit none
  include 'mpif.h'
  integer ierr, rank, req, key, val, status(MPI_STATUS_SIZE), comm, i
  integer(kind=MPI_ADDRESS_KIND) extra, av
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
