"""Response times of the console over many ranks, as its user has them: through a pseudo-terminal.

From the key that ends a line to the next prompt.
"""

from __future__ import annotations

import os
import sys
import time

import pexpect  # type: ignore[import-untyped]

from bench.figures import Section, response
from bench.setup import Bench, run
from bench.ways import environment
from rdb.launch.command import own_command

TITLE = "The console over many ranks"
_JOB = "many"
_TIMEOUT_S = 300
_BACK = 3


def measure(bench: Bench, section: Section) -> None:
    ranks = bench.scale.session_ranks
    program = bench.program("many.c", compiler="mpicc")
    bench.say(f"recording a job of {ranks} ranks")
    start = time.perf_counter()
    run(
        [*own_command(), "run", "--name", _JOB, "-n", str(ranks), "--", str(program)],
        env=environment(bench.home),
    )
    recorded_s = time.perf_counter() - start
    times: dict[str, list[float]] = {}
    for _ in range(min(bench.scale.rounds, 3)):
        _session(bench, ranks, times)
    for what, taken in times.items():
        section.responses.append(response(what, "console", 0, taken))
    section.notes.append(f"{ranks} ranks on {os.cpu_count()} cores; recorded in {recorded_s:.1f} s")
    section.notes.append(
        "focus: its GDB is started; reverse-next: in that rank, after a breakpoint"
    )


def _session(bench: Bench, ranks: int, times: dict[str, list[float]]) -> None:
    everybody, one = f"{_JOB} [0-{ranks - 1}]", ranks // 4 + 1
    start = time.perf_counter()
    child = pexpect.spawn(
        sys.executable,
        ["-m", "rdb", "attach", _JOB],
        env={**environment(bench.home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=_TIMEOUT_S,
    )

    def do(line: str, prompt: str, what: str | None = None) -> None:
        child.send(line)
        start = time.perf_counter()
        child.send("\r")
        child.expect_exact("\r\n")  # the line editor shows the prompt before it, too
        child.expect_exact(prompt)
        if what is not None:
            times.setdefault(what, []).append(time.perf_counter() - start)

    try:
        child.expect_exact(everybody)
        times.setdefault("first prompt", []).append(time.perf_counter() - start)
        do("where", everybody, "where, the first time")
        do("where", everybody, "where")
        do("print --stats cell.heat", everybody, "print --stats")
        do("timeline", everybody, "timeline")
        here = f"{_JOB} [{one}]"
        do(f"focus {one}", here, "focus on one rank")
        do("break exchange", here)
        do("reverse-continue", here, "reverse-continue")
        for _ in range(_BACK):
            do("reverse-next", here, "reverse-next")
        child.sendcontrol("d")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
