"""Commands that read the logs alone, over many events; with the start of the command."""

from __future__ import annotations

import time

from bench.figures import Section, response
from bench.setup import Bench, run
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.recording import open_job

TITLE = "Logs read"
_JOB = "logs"
_COMMANDS = {
    "find-event, an argument": ("find-event", "--count", _JOB, "mpi.send dest==7 or fd==77"),
    "find-event, a message": ("find-event", "--count", _JOB, "mpi.recv tag==7"),
    "find-event, a time": ("find-event", "--count", _JOB, "time < 0"),
    "messages": ("messages", _JOB),
    "info": ("info", _JOB),
    "timeline": ("timeline", _JOB, "-o", "logs.html"),
}
_NOTHING_FOUND = 1


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("pingpong.c", compiler="mpicc"))
    env = environment(bench.home)
    amounts = ["8", str(bench.scale.log_turns)]
    run([*own_command(), "run", "--name", _JOB, "-n", "2", "--", program, *amounts], env=env)
    job = open_job(str(bench.home / _JOB))
    events = sum(job.rank(rank).last_event for rank in job.ranks)
    for what, words in _COMMANDS.items():
        taken = []
        for _ in range(min(bench.scale.rounds, 3)):
            start = time.perf_counter()
            run(
                [*own_command(), *words],
                codes=(0, _NOTHING_FOUND),
                env=env,
                cwd=bench.built,
            )
            taken.append(time.perf_counter() - start)
        section.responses.append(response(what, "rdb", 0, taken))
        section.notes.append(f"{what}: {events / min(taken):,.0f} events a second")
    section.notes.append(f"of {events:,} events of two ranks, nearly all of them messages")
