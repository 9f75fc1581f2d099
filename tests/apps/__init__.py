"""Real applications under MPI: what they are, and the Debian packages that have them."""

PACKAGES = ("hpcc", "lammps", "libhypre-dev")
