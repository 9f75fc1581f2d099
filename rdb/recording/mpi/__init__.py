"""What one rank did in MPI, from its log alone."""
