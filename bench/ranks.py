"""Recorded ranks of given sizes to go back and forth in, and the taking of response times."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.setup import Bench, run
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.recording import RankRecording, open_job

SOURCE = "rank.c"
FUNCTION = "visit"  # called once a round
_SEED = 1


@dataclass(frozen=True)
class RecordedRank:
    job: str
    program: Path
    mb: int
    recording: RankRecording

    def events(self) -> random.Random:
        """The same events each time."""
        return random.Random(_SEED)


def recorded_rank(bench: Bench, mb: int) -> RecordedRank:
    """Recorded once, used by all sections.  -O1 so that lines are where one expects them."""
    program = bench.program(SOURCE, "-O1", "-fno-inline")
    path = bench.home / f"rank-{mb}"
    if not path.exists():
        bench.say(f"recording a rank of {mb} MB")
        line = [*own_command(), "run", "--name", path.name, "--", str(program), str(mb)]
        run([*line, str(bench.scale.rank_rounds)], env=environment(bench.home))
    return RecordedRank(path.name, program, mb, open_job(str(path)).rank(0))


def take_times(
    bench: Bench, action: Callable[[], object], prepare: Callable[[], object] | None = None
) -> list[float]:
    """Times of an action until there are enough, or its budget is spent (but three at least)."""
    times: list[float] = []
    until = time.monotonic() + bench.scale.budget_s
    while len(times) < bench.scale.responses and (len(times) < 3 or time.monotonic() < until):
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times
