"""LAMMPS' melt, and the table that it prints."""

from __future__ import annotations

import re

from bench.sections import lammps


def melt(steps: int, every: int) -> str:
    """Its input: a run of STEPS, a row of the table each EVERY."""
    return (
        lammps.melt(6, every)
        + f"dump 1 all atom 50 dump.melt\nrun {steps}\nwrite_restart restart.melt\n"
    )


def thermo(output: str) -> list[list[str]]:
    """The table of LAMMPS: step, temperature, energies, pressure."""
    return [line.split() for line in output.splitlines() if re.match(r"^ +\d+ +\S+ +-", line)]
