"""Response times of the console over many ranks, as its user has them: through a pseudo-terminal.

From the key that ends a line to the next prompt.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pexpect  # type: ignore[import-untyped]

from bench.figures import Section, response
from bench.setup import Bench, run
from bench.ways import environment
from rdb.launch.command import own_command
from rdb.session.processes import descendants

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
    memory = ""
    for _ in range(min(bench.scale.rounds, 3)):
        memory = _session(bench, ranks, times)
    for what, taken in times.items():
        section.responses.append(response(what, "console", 0, taken))
    section.notes.append(f"{ranks} ranks on {os.cpu_count()} cores; recorded in {recorded_s:.1f} s")
    section.notes.append(
        "focus: it gets a GDB; reverse-next: in that rank, after a breakpoint; "
        "break in all ranks: each gets a GDB"
    )
    section.notes.append(memory)


def _session(bench: Bench, ranks: int, times: dict[str, list[float]]) -> str:
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
        do("delete", here)
        do("goto end", here)
        do("focus all", everybody)
        do("break exchange", everybody, "break in all ranks, the first time")
        do("reverse-continue", everybody, "reverse-continue in all ranks")
        do("next", everybody, "next in all ranks, the first time")
        do("next", everybody, "next in all ranks")
        do("reverse-next", everybody, "reverse-next in all ranks")
        do("undo", everybody, "undo in all ranks")
        processes, megabytes = _below(child.pid)
        child.sendcontrol("d")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    return f"all ranks moved: {processes} processes, {megabytes:,} MB in all"


def _below(pid: int) -> tuple[int, int]:
    """Processes below one, and their memory, of what they share each one's part."""
    total_kb = found = 0
    for one in descendants(pid):
        try:
            lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        found += 1
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return found, total_kb >> 10
