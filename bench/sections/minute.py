"""A checkpoint without a log once a minute: what it costs the program that goes on.

Measured, not computed from the pause: how much longer the blocks of steps around a checkpoint took
than those before it, which has in it what comes after the pause as well (pages that are copied when
they are written to again, the children that write the images beside the ranks).  The same
is done at moments between two checkpoints: what is found there is this machine's noise.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Section, response
from bench.setup import Bench, BenchError
from bench.ways import environment, scratch
from rdb.launch.command import own_command

TITLE = "A checkpoint without a log once a minute, 2 ranks"
RANKS = 2
MB = 100
_EVERY_S = 60
_CHECKPOINTS = 3
_BLOCK = 10  # steps
_BEFORE_S, _AROUND_S, _AFTER_S = 15.0, 3.0, 10.0


@dataclass(frozen=True)
class Block:
    ended_s: float
    took_s: float


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: minutes are more than a quick look")
        return
    blocks, committed = _run(bench)
    costs = [_cost(blocks, at) for at in committed]
    quiet = [_cost(blocks, at + _EVERY_S / 2) for at in committed[:-1]]
    section.responses.append(response("time lost by one", "ranks", MB, costs))
    section.notes.append(
        f"{statistics.mean(costs) / _EVERY_S * 100:.2f} % of a minute; the same between two "
        f"checkpoints, where nothing is lost: {statistics.mean(quiet) / _EVERY_S * 100:.2f} %"
    )


def _run(bench: Bench) -> tuple[list[Block], list[float]]:
    """The blocks of a run with several checkpoints, and when these were whole."""
    program = str(bench.program("coordinated_steps.c", compiler="mpicc"))
    with scratch(bench) as folder:
        gate, job = folder / "gate", folder / "steps"
        every = ["--record=off", "--checkpoint-every", f"{_EVERY_S}s"]
        line = [*own_command(), "run", *every, "--name", job.name, "-n", str(RANKS)]
        running = subprocess.Popen(
            [*line, "--", program, str(MB), "0", str(gate), str(_BLOCK)],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        said: list[str] = []
        reads = threading.Thread(target=lambda: said.extend(running.stdout or ()))
        reads.start()
        until = time.monotonic() + (_CHECKPOINTS + 1) * _EVERY_S
        while len(_commits(job)) < _CHECKPOINTS and running.poll() is None:
            if time.monotonic() > until:
                break
            time.sleep(1)
        time.sleep(_AFTER_S + 1)
        committed = _commits(job)
        gate.touch()
        reads.join()
        if running.wait() != 0 or len(committed) < 2:
            raise BenchError(
                f"minute: {len(committed)} checkpoints, exit code {running.returncode}"
            )
        _remove(job)
    words = [line.split() for line in said if line.startswith("block")]
    return [Block(float(ended), float(took)) for _, ended, took in words], committed


def _remove(job: Path) -> None:
    """A child of a rank may still write an image of the next checkpoint."""
    until = time.monotonic() + _EVERY_S
    while job.exists():
        try:
            shutil.rmtree(job)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _commits(job: Path) -> list[float]:
    numbers = [json.loads(path.read_text())["at_ns"] for path in job.glob("commit-*")]
    return [at / 1e9 for at in sorted(numbers)]


def _cost(blocks: Sequence[Block], at_s: float) -> float:
    """By how much the blocks around this moment took longer than the median of those before."""
    begun = at_s - _AROUND_S
    before = [one.took_s for one in blocks if begun - _BEFORE_S < one.ended_s < begun]
    around = [one.took_s for one in blocks if begun <= one.ended_s < at_s + _AFTER_S]
    if not before or not around:
        raise BenchError("minute: no steps around a checkpoint: the machine is too busy")
    return sum(around) - len(around) * statistics.median(before)
