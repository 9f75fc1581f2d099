! `!=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `!0N` is of a
! variable that optimisation may leave out.
program turns_f08
  use mpi_f08
  implicit none
  type(MPI_Status), volatile :: status
  type(MPI_Comm), volatile :: comm
  comm = mpi_comm_world
  status%mpi_tag = 0
  call mpi_init()
  call work(60)
  call mpi_finalize()
contains
  subroutine work(steps)
    interface
       integer(4) function getppid() bind(c)
       end function
    end interface
    integer, intent(in) :: steps
    integer(4) :: who
    real(8) :: s, zero
    integer :: i
    s = 0
    zero = 0
    do i = 1, steps
       s = s + 1
       if (i == 30) s = zero / zero !030 s == s
       if (i == 25) status%mpi_tag = 7 !=25 status%mpi_tag == 0
       if (i == 26) comm%mpi_val = -1 !=26 comm%mpi_val >= 0
       who = getppid()
    end do
    if (s == s) print *, s, who
  end subroutine
end program
