"""How fast the log of a recorded run grows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.figures import LogGrowth
from bench.setup import Bench, BenchError, run
from bench.ways import ORDER, RECORDED, environment, scratch, through_mpi
from rdb.recording import open_job


def growth(
    bench: Bench, what: str, program: list[str], ranks: int, way: str = RECORDED
) -> LogGrowth:
    """Of the last rank, from its first event to its last one; a run of its own."""
    with scratch(bench) as folder:
        run([*through_mpi(way, folder, ranks), *program], env=environment(folder))
        (job,) = [path for path in folder.iterdir() if (path / "job.json").exists()]
        return _of_rank(what if way == RECORDED else f"{what}, {way}", job, ranks - 1)


def growths(
    bench: Bench,
    what: str,
    program: list[str],
    ranks: int,
    ways: Sequence[str] = (RECORDED, ORDER),
) -> list[LogGrowth]:
    """In each of these modes of recording."""
    return [growth(bench, what, program, ranks, way) for way in ways]


def _of_rank(what: str, job: Path, rank: int) -> LogGrowth:
    recording = open_job(str(job)).rank(rank)
    if not recording.last_event:
        raise BenchError(f"{what}: nothing was recorded")
    first, last = recording.event(1), recording.event(recording.last_event)
    size = sum(path.stat().st_size for path in recording.path.glob("log-*.seg"))
    took_s = max(last.at_ns - first.at_ns, 1) / 1e9
    return LogGrowth(what, recording.last_event, size / recording.last_event, size / took_s)
