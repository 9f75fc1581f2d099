! `s` is a local here, and a symbol of a library inside MPI_Finalize.
program clash
  use mpi_f08
  implicit none
  call mpi_init()
  call work(40)
  call mpi_finalize()
contains
  subroutine work(steps)
    integer, intent(in) :: steps
    real(8) :: s, zero
    integer :: i
    s = 0
    zero = 0
    do i = 1, steps
       s = s + 1
       if (i == 30) s = zero / zero
       call mpi_barrier(mpi_comm_world)
    end do
    if (s == s) print *, s
  end subroutine
end program
