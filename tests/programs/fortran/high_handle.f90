! A handle that no function has given.
program high_handle
  implicit none
  include 'mpif.h'
  integer :: n, err
  call MPI_Init(err)
  call MPI_Comm_size(131072, n, err)
end program
