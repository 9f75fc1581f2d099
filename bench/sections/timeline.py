"""Response times of the engine by itself: rdb.timeline, without GDB and its protocol.

Each motion is timed together with a look at the registers and the stack, because going back by
single instructions needs no process until somebody looks.
"""

from __future__ import annotations

import subprocess

from bench.figures import Section, response
from bench.ranks import FUNCTION, RecordedRank, recorded_rank, take_times
from bench.setup import Bench, BenchError
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

TITLE = "Going back and forth, at the Timeline (no GDB)"
_STACK_BYTES = 256
_BREAKPOINT = 1


def measure(bench: Bench, section: Section) -> None:
    for mb in bench.scale.rank_sizes_mb:
        rank = recorded_rank(bench, mb)
        with Timeline(rank.recording) as timeline:
            _measure(bench, section, rank, timeline)
    section.notes.append("with a look at the registers and 256 bytes of stack after each motion")
    section.notes.append("undo: from the next breakpoint back to where one stood before")


def _measure(bench: Bench, section: Section, rank: RecordedRank, timeline: Timeline) -> None:
    def add(what: str, times: list[float]) -> None:
        section.responses.append(response(what, "Timeline", rank.mb, times))

    def look() -> None:
        regs = timeline.registers()
        timeline.read_memory(regs.gpr.rsp, _STACK_BYTES)

    def moved(reason: str, expected: str) -> None:
        if reason != expected:
            raise BenchError(f"a rank of {rank.mb} MB: {reason}, expected {expected}")
        look()

    def back() -> None:
        moved(timeline.cont(forward=False).reason, "breakpoint")

    def step_back() -> None:
        moved(timeline.step(forward=False).reason, "step")

    events = rank.events()
    last = timeline.last_event

    def seek() -> None:
        moved(timeline.seek(Position(events.randint(1, last))).reason, "seek")

    timeline.set_breakpoint(_BREAKPOINT, _address(rank, timeline))
    timeline.goto_end()
    add("reverse-continue", take_times(bench, back))
    add("reverse-stepi", take_times(bench, step_back))
    before = timeline.position

    def away() -> None:
        nonlocal before
        before = timeline.position
        moved(timeline.cont().reason, "breakpoint")

    def undo() -> None:
        moved(timeline.seek(before).reason, "seek")

    timeline.seek(Position(last // 2))
    add("undo", take_times(bench, undo, away))
    add("seek by events", take_times(bench, seek))


def _address(rank: RecordedRank, timeline: Timeline) -> int:
    """Where the function is in the rank: as far from the entry point as in the program's file."""
    found = subprocess.run(
        ["nm", str(rank.program)], capture_output=True, text=True, timeout=30, check=True
    )
    rows = [line.split() for line in found.stdout.splitlines()]
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    return timeline.hello.entry + symbols[FUNCTION] - symbols["_start"]
