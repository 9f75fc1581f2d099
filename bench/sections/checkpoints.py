"""Checkpoints: how long the program stands still for one, how long it takes to come back to it.

All memory is written to before each.  The stop is what the recorder measured itself, from the event
to where the program goes on; a restore lasts until the replica answers.  The first one in a session
checks all pages; the later ones only map them.
"""

from __future__ import annotations

import time

from bench.figures import Section, response
from bench.setup import Bench, BenchError, run
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.recording import RankRecording, open_job
from rdb.replay.replica import Replica

TITLE = "Checkpoints"
_PAGES = {"small": "4 KiB pages", "huge": "huge pages"}
_EVENTS = 16  # of the program in each round
_STOP_GOAL_S = {"small": 0.060, "huge": 0.010}  # per GB
_RESTORE_GOAL_S = 0.050  # per GB


def measure(bench: Bench, section: Section) -> None:
    program = bench.program("dirty.c")
    for mb in bench.scale.checkpoint_sizes_mb:
        gb = mb / 1024
        for pages, text in _PAGES.items():
            name = f"dirty-{mb}-{pages}"
            line = [*own_command(), "run", "--name", name, "--checkpoint-every", f"{_EVENTS}events"]
            line += ["--", str(program), str(mb), str(bench.scale.checkpoint_rounds), pages]
            run(line, timeout_s=300, env=environment(bench.home))
            rank = open_job(str(bench.home / name)).rank(0)
            taken = [one for one in rank.images if one.size_bytes >= mb << 20]
            if not taken:
                raise BenchError(f"{name}: no checkpoint of all its memory was finished")
            stops = [one.stop_ns / 1e9 for one in taken]
            goal = _STOP_GOAL_S[pages] * gb if mb >= 1024 else None
            section.responses.append(response(f"stop, {text}", "recorder", mb, stops, goal))
        first, later = _restores(rank, taken[-1].number, bench.scale.checkpoint_rounds)
        section.responses.append(response("first restore, checked", "replica", mb, first))
        goal = _RESTORE_GOAL_S * gb if mb >= 1024 else None
        section.responses.append(response("restore", "replica", mb, later, goal))
    section.notes.append("goals per GB: a stop of 60 ms, 10 with huge pages; a restore of 50 ms")
    section.notes.append(
        "huge pages are fresh ones in each round: the kernel splits those written to while "
        "a checkpoint is being written, and then they are as many as others"
    )


def _restores(rank: RankRecording, number: int, rounds: int) -> tuple[list[float], list[float]]:
    times = []
    for _ in range(1 + max(rounds, 3)):
        start = time.perf_counter()
        replica = Replica.start(rank, number)
        times.append(time.perf_counter() - start)
        replica.close()
    return times[:1], times[1:]
