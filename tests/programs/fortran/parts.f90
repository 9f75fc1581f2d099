! Parts of complex numbers and lengths of texts, at step 1 to 6.
program parts
  implicit none
  interface
    function getppid() bind(c)
      use iso_c_binding
      integer(c_int) :: getppid
    end function
  end interface
  type :: part
    complex(4) :: c
    integer :: re
  end type
  complex(8) :: z
  complex(8), allocatable :: az(:), one
  character(len=12) :: name, names(2)
  character(len=:), allocatable :: title
  type(part) :: p
  integer :: i, k
  allocate (az(3), one)
  do i = 1, 6
    z = cmplx(i, 2*i, 8)
    az = z
    one = z
    p%c = cmplx(i, -i)
    p%re = i
    name = repeat('a', i)
    names = name
    title = repeat('b', i)
    k = getppid() ! step
  end do
  print *, z, az, one, name, names, title, p%re, k
end program
