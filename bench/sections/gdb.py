"""Response times that a user has: a real GDB over MI (rdb.session.gdb) with the rdb extension.

From the command to GDB's answer, the stop and its source line included.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable

from bench.figures import Section, response
from bench.ranks import FUNCTION, SOURCE, RecordedRank, recorded_rank, take_times
from bench.setup import Bench, BenchError
from rdb.paths import gdb_scripts_dir
from rdb.session.gdb import GdbProcess

TITLE = "Going back and forth, through GDB"
_TIMEOUT_S = 120.0
_GOALS_S = {
    "open": (1.5, None),
    "reverse-step": (0.020, 0.100),
    "reverse-next": (0.020, 0.100),
    "undo": (0.200, None),
}
_THINKING_S = 0.5
_ROUND = 8  # events, at most, to the next one
_GOALS_MB = 1024  # what the goals are about
# What is undone, in turn; and a goto.
_COMMANDS = ("next", "step", "stepi 7", "continue", "reverse-next", f"break {SOURCE}:1")

Do = Callable[[str], str]
Add = Callable[[str, list[float]], None]


def measure(bench: Bench, section: Section) -> None:
    os.environ["RDB_HOME"] = str(bench.home)  # for the server that GDB starts
    for mb in bench.scale.rank_sizes_mb:
        rank = recorded_rank(bench, mb)
        with asyncio.Runner() as runner:
            _measure(bench, section, rank, runner)
    section.notes.append(
        "GDB over MI (rdb.session.gdb), command to prompt, the source line printed"
    )
    section.notes.append(
        f"elsewhere: after a goto EVENT and a continue, at once or {_THINKING_S} s later"
    )
    section.notes.append(f"undo of, in turn: {', '.join(_COMMANDS)}, goto EVENT")


def _measure(bench: Bench, section: Section, rank: RecordedRank, runner: asyncio.Runner) -> None:
    def add(what: str, times: list[float]) -> None:
        goals = _GOALS_S.get(what, (None, None)) if rank.mb >= _GOALS_MB else (None, None)
        section.responses.append(response(what, "GDB", rank.mb, times, *goals))

    start = time.perf_counter()
    gdb = runner.run(GdbProcess.start(["-x", str(gdb_scripts_dir() / "rdb.py")]))

    def do(command: str) -> str:
        answer = runner.run(gdb.execute(command, _TIMEOUT_S))
        if answer.error is not None:
            raise BenchError(f"a rank of {rank.mb} MB: {command}: {answer.error}")
        return answer.text

    try:
        do(f"rdb-open {rank.job} 0")
        add("open", [time.perf_counter() - start])
        do(f"break {FUNCTION}")
        start = time.perf_counter()
        do("goto END")
        add("first goto END", [time.perf_counter() - start])
        _commands(bench, rank, do, add)
    finally:
        runner.run(gdb.close())


def _commands(bench: Bench, rank: RecordedRank, do: Do, add: Add) -> None:
    events = rank.events()
    last = rank.recording.last_event

    def seek() -> None:
        do(f"goto {events.randint(1, last)}")

    for command in ("reverse-continue", "reverse-step", "reverse-next"):
        add(command, take_times(bench, lambda command=command: do(command)))  # type: ignore[misc]

    def elsewhere() -> None:
        do(f"goto {events.randint(1, last - _ROUND)}")
        do("continue")

    def elsewhere_and_think() -> None:
        elsewhere()
        time.sleep(_THINKING_S)

    for what, prepare in (("at once", elsewhere), ("later", elsewhere_and_think)):
        times = take_times(bench, lambda: do("reverse-step"), prepare)
        add(f"elsewhere, reverse-step {what}", times)
    do(f"goto {last // 2}")
    do("continue")
    others = itertools.cycle((*_COMMANDS, None))
    stood = ""

    def away() -> None:
        """Also holds that the last undo was one: what is quick and wrong is no figure."""
        nonlocal stood
        here = do("print $pc").partition("=")[2]
        if stood and here != stood:
            raise BenchError(f"a rank of {rank.mb} MB: undo led to {here}, not to {stood}")
        stood = here
        other = next(others)
        if other is None:
            seek()
        else:
            do(other)

    add("undo", take_times(bench, lambda: do("undo"), away))
    add("seek by events", take_times(bench, seek))
