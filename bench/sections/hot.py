"""Going back inside long computations, through GDB; and the same moves under GDB's `record full`.

`record full` keeps each instruction in memory and cannot come to where rdb is asked to go, so it
gets a hundredth of the turns.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Section, response
from bench.ranks import take_times
from bench.setup import Bench, BenchError, run
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.paths import gdb_scripts_dir
from rdb.session.gdb import GdbProcess

TITLE = "Going back inside long computations"
SOURCE = "hot.c"
_TIMEOUT_S = 300.0
_FULL_PART = 100

Do = Callable[[str], str]
Add = Callable[..., None]


def measure(bench: Bench, section: Section) -> None:
    os.environ["RDB_HOME"] = str(bench.home)
    program = bench.program(SOURCE, "-O1", "-fno-inline")
    turns = bench.scale.hot_turns

    def add(what: str, times: list[float], goal_s: float | None = None) -> None:
        section.responses.append(response(what, "GDB", 0, times, goal_s))

    if not (bench.home / "hot").exists():
        line = [*own_command(), "run", "--name", "hot", "--", str(program), str(turns)]
        run(line, env=environment(bench.home))
    with asyncio.Runner() as runner:
        _with_gdb(
            runner, ["-x", str(gdb_scripts_dir() / "rdb.py")], lambda do: _rdb(bench, do, add)
        )
        full = max(turns // _FULL_PART, 100)
        _with_gdb(runner, [], lambda do: _record_full(bench, do, add, program, full))
    section.notes.append(f"rdb: loops of {turns // 10} dense and {turns} tight turns")
    section.notes.append(f"record full: of {full // 10} and {full}")


def _with_gdb(runner: asyncio.Runner, options: list[str], use: Callable[[Do], None]) -> None:
    gdb = runner.run(GdbProcess.start(options))

    def do(command: str) -> str:
        answer = runner.run(gdb.execute(command, _TIMEOUT_S))
        if answer.error is not None:
            raise BenchError(f"{command}: {answer.error}")
        return answer.text

    try:
        use(do)
    finally:
        runner.run(gdb.close())


def _value(do: Do, expression: str) -> int:
    return int(do(f"print/d {expression}").rpartition("=")[2])


def _expect(do: Do, expression: str, value: int) -> None:
    """What is quick and wrong is no figure."""
    here = _value(do, expression)
    if here != value:
        raise BenchError(f"{expression} is {here}, not {value}")


def _rdb(bench: Bench, do: Do, add: Add) -> None:
    turns = bench.scale.hot_turns
    dense = turns // 10
    do("rdb-open hot 0")
    do("goto END")
    do(f"tbreak visit if i == {dense // 10}")
    start = time.perf_counter()
    do("reverse-continue")
    add(f"reverse-continue, 1 of {dense} hits", [time.perf_counter() - start], 5.0)
    _expect(do, "i", dense // 10)

    times = []
    for part in (3, 5, 7):  # from after the loop each time, another place
        do("goto END")
        do(f"tbreak visit if i == {dense * part // 10}")
        start = time.perf_counter()
        do("reverse-continue")
        times.append(time.perf_counter() - start)
        _expect(do, "i", dense * part // 10)
    add("the same again", times, 5.0)

    do("goto START")
    do("tbreak tight")
    do("continue")
    middle = f"{_event(do)}:{_loop_pc(do):#x}:{turns // 2}"
    start = time.perf_counter()
    do(f"goto {middle}")
    add(f"goto turn {turns // 2}", [time.perf_counter() - start])
    start = time.perf_counter()
    do("reverse-stepi")
    add("reverse-stepi there, first", [time.perf_counter() - start], 1.0)
    add("reverse-stepi there", take_times(bench, lambda: do("reverse-stepi")), 1.0)
    do(f"goto {middle}")
    add("reverse-next there", take_times(bench, lambda: do("reverse-next")), 1.0)

    do("goto END")
    do("watch -location region")
    start = time.perf_counter()
    do("reverse-continue")
    add("reverse-continue, watch of 512 B", [time.perf_counter() - start])


def _event(do: Do) -> int:
    said = do("when")
    found = re.search(r"\d+", said)
    if found is None:
        raise BenchError(f"when: {said}")
    return int(found.group())


def _loop_pc(do: Do) -> int:
    """Where the loop of `tight` jumps back to."""
    for line in do("disassemble tight").splitlines():
        words = line.split()
        if any(word in ("jne", "jb", "ja", "jnz") for word in words):
            at = next(i for i, word in enumerate(words) if word in ("jne", "jb", "ja", "jnz"))
            return int(words[at + 1], 16)
    raise BenchError("no loop in `tight`")


def _record_full(bench: Bench, do: Do, add: Add, program: Path, turns: int) -> None:
    do(f"file {program}")
    do("set environment LD_BIND_NOW=1")
    do("tbreak dense")
    do(f"run {turns}")
    do("record full")
    do("set record full insn-number-max unlimited")
    start = time.perf_counter()
    do("tbreak ready")
    do("continue")
    add("record full: recording, dense", [time.perf_counter() - start])
    do(f"tbreak visit if i == {turns // 100}")
    start = time.perf_counter()
    do("reverse-continue")
    add(f"record full: reverse-continue, 1 of {turns // 10} hits", [time.perf_counter() - start])
    add("record full: reverse-stepi", take_times(bench, lambda: do("reverse-stepi")))
    do("kill")
    do("tbreak tight")
    do(f"run {turns}")
    do("record full")
    do("set record full insn-number-max unlimited")
    do("tbreak ready")
    do("continue")
    loop = _loop_pc(do)

    def turn_back() -> None:
        do(f"tbreak *{loop:#x}")
        there("reverse-continue")

    def there(command: str) -> None:
        said = do(command)
        if "No more reverse-execution history" in said:
            raise BenchError(f"record full: {command}: {said}")

    add("record full: reverse-next", take_times(bench, lambda: there("reverse-next"), turn_back))
    do("kill")
