"""LAMMPS' melt on two ranks, from mpirun to its end: a real application, where it is installed."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path

from bench.figures import Section, ratio
from bench.logs import growths
from bench.setup import Bench
from bench.ways import (
    MODES,
    NATIVE,
    alternate,
    environment,
    must_succeed,
    scratch,
    through_mpi,
    timed,
)

TITLE = "LAMMPS, a melt of 4000 atoms, two ranks"


def melt(cells: int, every: int) -> str:
    """The input but for the run: CELLS in each direction, a row of the table each EVERY steps."""
    return f"""\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
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
"""


def measure(bench: Bench, section: Section) -> None:
    lmp = shutil.which("lmp")
    if lmp is None:
        section.notes.append("LAMMPS is not installed: `make test-apps` installs it")
        return
    script = bench.built / "in.melt"
    script.write_text(f"{melt(10, 50)}run {bench.scale.lammps_steps}\n")
    program = [lmp, "-in", str(script), "-log", "none", "-screen", "none"]
    times: dict[str, list[float]] = defaultdict(list)

    def once(way: str) -> None:
        with scratch(bench) as folder:
            line = [*through_mpi(way, folder, 2), *program]
            said = Path(folder, "said")
            took, code = timed(line, {**environment(folder), "OMP_NUM_THREADS": "1"}, said)
            must_succeed(line, code, said)
            times[way].append(took)

    alternate(bench.scale.rounds, MODES, once)
    for way in MODES[1:]:
        section.ratios.append(ratio("melt", way, times[NATIVE], times[way]))
    section.logs += growths(bench, "melt", program, 2)
    section.notes.append("the start and the end of the ranks are in it")
