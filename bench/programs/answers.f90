! Steps of an allreduce each; a scalar of a module and a local turn late: answers STEPS.
module hydro
  use mpi
  implicit none
  real(8), save :: energy = 1
contains
  subroutine step(i, steps)
    integer, intent(in) :: i, steps
    real(8) :: dt
    integer :: error
    dt = 1d0 / i
    call MPI_Allreduce(MPI_IN_PLACE, dt, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (i == steps / 3 * 2) energy = -1
  end subroutine
end module

program answers
  use hydro
  implicit none
  integer :: error, i, steps
  real(8) :: total
  character(20) :: argument
  call get_command_argument(1, argument)
  read (argument, *) steps
  call MPI_Init(error)
  total = 1
  do i = 1, steps
     call step(i, steps)
     if (i == steps / 4 * 3) total = -1
  end do
  call MPI_Finalize(error)
end program
