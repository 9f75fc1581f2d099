"""Searches by several replicas side by side find what one by itself finds."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

from rdb.recording import open_job
from rdb.replay.agent import Stop, StopReason
from rdb.server.searches import Searches
from rdb.timeline import scan
from rdb.timeline.asking import Probe
from rdb.timeline.bisect import Bisect, Result
from rdb.timeline.changes import Change, ChangeSearch
from rdb.timeline.points import Points
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted
from rdb.timeline.timeline import Timeline
from rdb.timeline.travel import Travel
from rdb.timeline.walker import Control

ROUNDS = 1500
JOBS = (1, 3)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("many-rounds")
    source = PROGRAMS / "many_rounds.c"
    made = Recorded(folder, build("many_rounds.c", "-O1"), source, str(ROUNDS))
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture(scope="module")
def timeline(recorded: Recorded) -> Iterator[Timeline]:
    with Timeline(open_job(str(recorded.home / "job")).rank(0)) as made:
        yield made


def address(timeline: Timeline, recorded: Recorded, name: str) -> int:
    program = str(open_job(str(recorded.home / "job")).rank(0).meta["exe"])
    found = subprocess.run(["nm", program], capture_output=True, text=True, check=True, timeout=60)
    rows = (line.split() for line in found.stdout.splitlines())
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    return timeline.hello.entry + symbols[name] - symbols["_start"]


def changes(timeline: Timeline, addr: int, jobs: int, *, most: int = 1 << 30) -> list[Change]:
    timeline.control.begin()
    timeline.travel.jobs = jobs
    search = ChangeSearch(timeline.travel, (addr, 8), Position(0), None, most=most)
    return list(search.run(lambda part: timeline.control.check()))


def test_changes_are_the_same(timeline: Timeline, recorded: Recorded) -> None:
    addr = address(timeline, recorded, "changed")
    alone, several = (changes(timeline, addr, jobs) for jobs in JOBS)
    assert len(alone) == ROUNDS // 7 + ROUNDS // 50
    assert several == alone
    for most in (1, 40):
        assert changes(timeline, addr, 3, most=most) == alone[:most]


def test_what_an_interrupted_search_has_found_is_a_beginning(
    timeline: Timeline, recorded: Recorded
) -> None:
    addr = address(timeline, recorded, "changed")
    whole = changes(timeline, addr, 1)
    timeline.control.begin()
    timeline.travel.jobs = 3
    search = ChangeSearch(timeline.travel, (addr, 8), Position(0), None)
    found: list[Change] = []
    with pytest.raises(Interrupted):
        for change in search.run(lambda part: timeline.control.check()):
            found.append(change)
            if len(found) == 50:
                timeline.interrupt()
    assert 50 <= len(found) < len(whole)
    assert found == whole[: len(found)]
    timeline.control.begin()


def test_an_agent_that_was_dropped_is_not_kept() -> None:
    class Agent:
        """Nothing is asked of one that does not run."""

    control, gone = Control(), threading.Event()
    agent: Any = Agent()
    weakref.finalize(agent, gone.set)
    control.drop(agent)
    del agent
    assert gone.wait(60)


def test_an_interrupt_is_for_the_run_that_is_meant() -> None:
    """The thread that interrupts loses the processor when it is about to do that."""
    control, second, go_on = Control(), threading.Event(), threading.Event()
    about = threading.Event()
    in_second: list[bool] = []

    class Agent:
        def interrupt(self) -> None:
            about.set()
            assert go_on.wait(60)
            in_second.append(second.is_set())

    agent: Any = Agent()
    arrived: Any = SimpleNamespace(reason=StopReason.TARGET)
    threads = threading.active_count()

    def first() -> Stop:
        control.interrupt()
        assert about.wait(60)
        return arrived

    def then() -> Stop:
        second.set()
        while threading.active_count() > threads + 1:
            time.sleep(0.001)
        return arrived

    def runs() -> None:
        control.running(agent, first)
        control.begin()
        control.running(agent, then)

    with ThreadPoolExecutor(1) as one:
        both = one.submit(runs)
        second.wait(0.5)  # it does not come to that before the other thread has interrupted
        go_on.set()
        both.result(60)
    assert in_second == [False]


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_the_last_hit_is_the_same(
    timeline: Timeline, recorded: Recorded, watched: bool, dropped: bool
) -> None:
    """DROPPED: the snapshots of a batch have made room for others when it is searched."""
    points = Points()
    if watched:
        points.set_watchpoint(1, address(timeline, recorded, "bad"), 8, 0)
    else:
        entry = timeline.hello.entry
        points.set_breakpoint(1, entry, b"")  # the very beginning
    found: list[object] = []
    batches: list[int] = []
    side_by_side, collected = scan._side_by_side, scan._batches

    def dropping(
        travel: Travel, intervals: Iterator[scan._Interval]
    ) -> Iterator[list[scan._Interval]]:
        for batch in collected(travel, intervals):
            if dropped:
                travel.snapshots.drop(lambda one: True)
            yield batch

    def counted(*arguments: object) -> object:
        batches.append(len(arguments[2]))  # type: ignore[arg-type]
        return side_by_side(*arguments)  # type: ignore[arg-type]

    with (
        mock.patch.object(scan, "_LONG_S", 0.0),
        mock.patch.object(scan, "_CHUNK_S", 0.0),
        mock.patch.object(scan, "_FORK_PART", 0.0),
        mock.patch.object(scan, "_side_by_side", counted),
        mock.patch.object(scan, "_batches", dropping),
    ):
        for jobs in JOBS:
            timeline.travel.jobs = jobs
            timeline.goto_end()
            # What it took to come to each has no say in what is searched side by side.
            timeline.travel.snapshots.drop(lambda one: True)
            for event in range(200, ROUNDS, 300):
                walker = timeline.travel.to(Position(event))
                walker.at_s = float(event)
                timeline.travel.keep(walker)
                walker.close()
            timeline.travel.here_s = float(ROUNDS)
            hit = scan.last_hit(timeline.travel, points, timeline.position, timeline.gpr)
            if hit is None:
                found.append(None)
                continue
            found.append((timeline.travel.name(hit.position, hit.gpr.rip), hit.gpr, hit.watch))
            if hit.walker is not None:
                hit.walker.close()
    assert found[0] == found[1]
    assert not watched or found[0] is not None
    assert batches, "nothing was searched side by side"


def bisected(timeline: Timeline, recorded: Recorded, jobs: int) -> Result:
    timeline.travel.jobs = jobs
    addr = address(timeline, recorded, "bad")
    search = Bisect(timeline)
    ask = search.start()
    ahead = timeline.travel.ahead
    while isinstance(ask, Probe):
        timeline.seek(ask.position)
        ahead.prepare(ask.soon)
        ask = search.answer("bad" if timeline.read_memory(addr, 1) != b"\0" else "good")
    ahead.close()
    return ask


def test_bisect_is_the_same(timeline: Timeline, recorded: Recorded) -> None:
    alone, several = (bisected(timeline, recorded, jobs) for jobs in JOBS)
    assert several == alone


@pytest.mark.parametrize("busy", ["others", "naming"])
def test_names_depend_on_what_they_cost_alone(
    timeline: Timeline, recorded: Recorded, busy: str
) -> None:
    """Half a second passes between two looks at the clock, of others' doing or of our own."""
    clocks = {"monotonic": time.monotonic, "thread_time": time.thread_time}
    slow = {"others": "monotonic", "naming": "thread_time"}[busy]
    clocks[slow] = partial(next, itertools.count(0.0, 0.5))
    asked = {"addr": address(timeline, recorded, "changed"), "length": 8, "from": None, "to": None}
    text = json.dumps({**asked, "limit": 20, "frame": None}).encode().hex()
    searches = Searches(SimpleNamespace(timeline=timeline), timeline.recording)  # type: ignore[arg-type]
    searches.operations["changes"](text)  # names that are known take no replica's time
    with mock.patch("rdb.server.searches.time", SimpleNamespace(**clocks)):
        rows = searches.operations["changes"](text)["rows"]
    named = [bool(re.fullmatch(r"\d+:0x[0-9a-f]+:1", row["position"])) for row in rows]
    assert named == [True] * 20 if busy == "others" else named == [True] * 2 + [False] * 18


def test_jobs_in_gdb(gdb: Gdb) -> None:
    tables = [gdb.run(f"changes changed --limit 60 --jobs {jobs}") for jobs in JOBS]
    assert tables[0] == tables[1]
    assert tables[0].count("\n") > 60
    ends = []
    for jobs in JOBS:
        gdb.run("goto end")  # where it stands the names are looked for first
        ends.append(gdb.run(f"bisect !bad --jobs {jobs}"))
    assert "turned false" in ends[0]
    assert ends[0] == ends[1]
    assert threading.active_count() < 50
