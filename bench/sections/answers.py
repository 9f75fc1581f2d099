"""How long `rdb bisect`, `find-event`, `messages`, `deadlock`, `restart --plan`, `attach` take.

Two ranks and recordings of 10^3 events and more, by programs of several languages.  Each command is
started anew, as its user does: GDB's start and the reading of symbols count.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.figures import Section, response
from bench.setup import Bench, BenchError
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.recording.store import Job

TITLE = "Answers over recordings of many events"
_RANKS = 2
_TIMEOUT_S = 900.0
_COMPILERS = {"c": "mpicc", "cc": "mpicxx", "f90": "mpif90"}
# What is asked: the kind of variable, the condition.
_BISECTED = {
    "c": (("a static", "state.energy > 0"), ("a local", "total > 0")),
    "cc": (("a member", "energy > 0"),),
    "f90": (("a module's scalar", "energy > 0"), ("a local", "total > 0")),
    "py": (("an array of numpy", "all(energy > 0)"),),
}
_NOT_THERE = {"py": "all(nosuch > 0)"}
# Of a step of the program.
_EVENTS_A_STEP = {"py": 3}
_GOALS_S = {100_000: 10.0, 1_000_000: 30.0}
_REFUSAL_GOAL_S = 2.0


def measure(bench: Bench, section: Section) -> None:
    for language in bench.scale.answers_languages:
        for events in bench.scale.answers_events:
            _measure(bench, section, language, events)
    section.notes.append(f"{_RANKS} ranks; bisect in rank 0, from the command line to its answer")
    section.notes.append("events of rank 0; Python makes some thousands before its first step")


def _measure(bench: Bench, section: Section, language: str, events: int) -> None:
    if language == "py":
        there = subprocess.run([sys.executable, "-c", "import mpi4py, numpy"], capture_output=True)
        if there.returncode:
            if events == bench.scale.answers_events[0]:
                section.notes.append("Python: not measured: mpi4py or numpy is not installed")
            return
        program = [sys.executable, str(bench.source("answers.py"))]
    else:
        built = bench.program(f"answers.{language}", "-O0", compiler=_COMPILERS[language])
        program = [str(built)]
    job = f"answers-{language}-{events}"
    bench.say(f"recording {job}")
    steps = str(events // _EVENTS_A_STEP.get(language, 1))
    recording = ["run", "--name", job, "-n", str(_RANKS), "--", *program, steps]
    _answer(bench, recording, f"recorded job {job}", "")
    made = Job(bench.home / job).rank(0).last_event
    if language in _EVENTS_A_STEP:
        section.notes.append(f"{language}: {made:,} where it says {events:,}")
    rounds = range(bench.scale.answers_rounds)

    def add(what: str, command: list[str], says: str, goal_s: float | None, text: str = "") -> None:
        times = [_answer(bench, command, says, text) for _ in rounds]
        name = f"{language}: {what}, {events:,} events"
        section.responses.append(response(name, language, 0, times, goal_s))

    goal_s = _GOALS_S.get(events)
    for what, condition in _BISECTED[language]:
        command = ["bisect", job, condition, "--rank", "0"]
        add(f"bisect {what}", command, "first turned false in rank 0", goal_s)
    refused = ["bisect", job, _NOT_THERE.get(language, "nosuch > 0"), "--rank", "0"]
    add("bisect a name that is not there", refused, "found in no rank", _REFUSAL_GOAL_S)
    half = str(made // 2)
    add("find-event", ["find-event", job, f"event=={half}", "--rank", "0"], half, None)
    add("messages", ["messages", job], "", None)
    add("deadlock", ["deadlock", job], "blocked in MPI", None)
    add("plan of a restart", ["restart", job, "--at", half, "--plan"], "checked", None)
    add("attach and quit", ["attach", job], "", None, "quit\n")


def _answer(bench: Bench, command: list[str], says: str, text: str) -> float:
    """Seconds until `rdb COMMAND` has answered, and that it says what it has to."""
    start = time.perf_counter()
    done = subprocess.run(
        [*own_command(), *command],
        env=environment(bench.home),
        input=text,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    took_s = time.perf_counter() - start
    if says not in done.stdout + done.stderr:
        raise BenchError(f"rdb {' '.join(command)}: {(done.stdout + done.stderr)[-400:]}")
    return took_s
