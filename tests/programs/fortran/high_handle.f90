! Handles that no function has given: as arguments, and in variables that a call sets.
program high_handle
  implicit none
  include 'mpif.h'
  integer, parameter :: numbers(7) = [-5, 4000, 131071, 131072, 2097151, 2097152, 2147483647]
  integer :: n, err, class, i, grid, part, type
  call MPI_Init(err)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, err)
  do i = 1, size(numbers)
    call MPI_Comm_size(numbers(i), n, err)
    call MPI_Error_class(err, class, n)
    print *, numbers(i), class == MPI_ERR_COMM
    grid = numbers(i)
    part = numbers(i)
    type = numbers(i)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [1], [.true.], .false., grid, err)
    call MPI_Cart_sub(grid, [.true.], part, err)
    call MPI_Comm_size(part, n, err)
    print *, n, err == MPI_SUCCESS
    call MPI_Comm_free(part, err)
    call MPI_Comm_free(grid, err)
    call MPI_Type_contiguous(3, MPI_INTEGER, type, err)
    call MPI_Type_commit(type, err)
    call MPI_Type_size(type, n, err)
    print *, n, err == MPI_SUCCESS
    call MPI_Type_free(type, err)
  end do
  call MPI_Finalize(err)
end program
