"""rdb: a reversible debugger for MPI programs."""

__version__ = "0.2.0"
