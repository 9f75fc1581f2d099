"""LAMMPS' melt, and the table that it prints."""

from __future__ import annotations

import re


def melt(steps: int, every: int) -> str:
    """Its input: a run of STEPS, a row of the table each EVERY."""
    return f"""\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo {every}
dump 1 all atom 50 dump.melt
run {steps}
write_restart restart.melt
"""


def thermo(output: str) -> list[list[str]]:
    """The table of LAMMPS: step, temperature, energies, pressure."""
    return [line.split() for line in output.splitlines() if re.match(r"^ +\d+ +\S+ +-", line)]
