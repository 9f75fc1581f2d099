"""A rank in Python that does nothing but to begin and to end: the import calls MPI_Init."""

from mpi4py import MPI

MPI.COMM_WORLD.Get_rank()
