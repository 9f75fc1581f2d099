"""Checkpoints without a log (--record=off) that the ranks of an MPI job take together.

The pause is what each rank measured itself, from where it was held to where it went on: the longest
of all ranks.  A restart lasts from `rdb restart` until the job has ended, which it does at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from bench.figures import Section, ratio, response
from bench.setup import Bench, BenchError, run
from bench.ways import NATIVE, PLAIN, alternate, environment, scratch, through_mpi
from rdb.coordinate.board import Board, board_path
from rdb.coordinate.coordinated import take
from rdb.launch.command import own_command
from rdb.recording import open_job

TITLE = "Checkpoints without a log, 4 ranks"
RANKS = 4
MB = 100
Times = dict[str, list[float]]
_STEPS = 6000
_OVERHEAD_GOAL = 1.01
_CROWDED = RANKS  # on two processors the ranks of this many take turns


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: four ranks of 100 MB are more than a quick look")
        return
    program = str(bench.program("coordinated_steps.c", compiler="mpicc"))
    _pauses(bench, section, program)
    _overhead(bench, section, program)


def _pauses(bench: Bench, section: Section, program: str) -> None:
    with scratch(bench) as folder:
        gate = folder / "gate"
        line = [*own_command(), "run", "--record=off", "--name", "steps", "-n", str(RANKS), "--"]
        job = subprocess.Popen(
            [*line, program, str(MB), "0", str(gate)],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert job.stdout is not None
            if "ready" not in job.stdout.readline():
                raise BenchError("coordinated: the program did not begin")
            opened = open_job(str(folder / "steps"))
            taken = [take(opened, 120) for _ in range(1 + max(bench.scale.rounds, 3))]
        finally:
            kill(folder / "steps")
            job.wait()
        gate.touch()
        first, later = taken[0], taken[1:]
        pauses = [max(one.stood_ns) / 1e9 for one in later]
        section.responses.append(
            response("pause, first (all memory)", "ranks", MB, [max(first.stood_ns) / 1e9])
        )
        section.responses.append(response("pause, later", "ranks", MB, pauses))
        section.notes.append(
            f"image of a rank: {sum(first.size_bytes) / RANKS / 1e6:.0f} MB, of a later checkpoint "
            f"{sum(later[-1].size_bytes) / RANKS / 1e6:.0f} MB (what had changed)"
        )
        times = []
        for number in range(max(bench.scale.rounds, 3)):
            begun = time.perf_counter()
            run(
                [*own_command(), "restart", "steps", "--name", f"again-{number}"],
                env=environment(folder),
            )
            times.append(time.perf_counter() - begun)
        section.responses.append(response("restart to the end", "mpirun", MB, times))


def kill(job: Path) -> None:
    """Kills the ranks of a job that runs without a log."""
    for slot in Board(board_path(job)).slots():
        if slot.pid:
            try:
                os.kill(slot.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _overhead(bench: Bench, section: Section, program: str) -> None:
    """--record=off, with nobody asking for a checkpoint."""
    for ranks in (2, _CROWDED):
        whole: dict[str, list[float]] = {NATIVE: [], PLAIN: []}
        quickest: dict[str, list[float]] = {NATIVE: [], PLAIN: []}

        def once(
            way: str, ranks: int = ranks, whole: Times = whole, quickest: Times = quickest
        ) -> None:
            with scratch(bench) as folder:
                before = [*own_command(), "run", "--record=off", "-n", str(ranks), "--"]
                if way == NATIVE:
                    before = through_mpi(NATIVE, folder, ranks)
                said = run([*before, program, "4", str(_STEPS)], env=environment(folder))
            all_steps, block = said.split()[-2:]
            whole[way].append(float(all_steps))
            quickest[way].append(float(block))

        alternate(bench.scale.rounds, (NATIVE, PLAIN), once)
        for what, times in (("all steps", whole), ("quickest 60 steps", quickest)):
            goal = _OVERHEAD_GOAL if ranks == 2 and times is quickest else None
            section.ratios.append(
                ratio(f"{what}, {ranks} ranks", PLAIN, times[NATIVE], times[PLAIN], goal)
            )
    section.notes.append(
        f"no checkpoint: {_STEPS} steps over 4 MB with two calls of MPI each; where ranks are "
        "more than processors, or others use these, the time of all steps is the scheduler's; "
        "the quickest block of 60 was disturbed least"
    )
