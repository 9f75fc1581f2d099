! MPI_Allreduce three times, by the binding that is chosen.
program named
#if defined(OLD)
  implicit none
  include 'mpif.h'
#elif defined(MODULE)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: mine, total, turn, ierror
  mine = 1
  call MPI_Init(ierror)
  do turn = 1, 3
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    mine = mine + total
  end do
  call MPI_Finalize(ierror)
end program
