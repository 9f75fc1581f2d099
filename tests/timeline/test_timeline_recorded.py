"""The timeline on real recordings, compared with stepping the whole program forward once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import deadlines
import pytest
from deadlines import wait_for
from symbols import symbol

from rdb.recording import open_job
from rdb.recording.rank import RankRecording
from rdb.replay.agent import Gpr, Stop, StopReason
from rdb.replay.replica import Replica, unreaped
from rdb.timeline import bases
from rdb.timeline.asking import Probe
from rdb.timeline.bisect import Bisect, Result
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted, Stopped
from rdb.timeline.timeline import Timeline
from rdb.timeline.travel import Travel
from rdb.timeline.walker import Walker

HASH_EVERY = 997


@dataclass
class Oracle:
    """Every state of a recording: event, registers, now and then the memory's hash."""

    events: list[int] = field(default_factory=list)
    gprs: list[Gpr] = field(default_factory=list)
    hashes: dict[int, int] = field(default_factory=dict)
    names: dict[Position, int] = field(default_factory=dict)
    by_index: list[Position] = field(default_factory=list)

    @classmethod
    def of(cls, recording: RankRecording) -> Oracle:
        oracle = cls()
        replica = Replica.start(recording)
        agent = replica.agent
        try:
            oracle.add(agent.hello().event, agent.get_regs().gpr)
            while True:
                if (len(oracle.gprs) - 1) % HASH_EVERY == 0:
                    oracle.hashes[len(oracle.gprs) - 1] = agent.hash()
                stop = agent.step(1)
                if stop.reason is not StopReason.TARGET:
                    assert stop.reason in (StopReason.END, StopReason.FAULT), stop
                    return oracle
                oracle.add(stop.event, stop.gpr)
        finally:
            replica.close()

    def add(self, event: int, gpr: Gpr) -> None:
        if not self.events or event != self.events[-1]:
            self._counts: dict[int, int] = {}
        n = self._counts[gpr.rip] = self._counts.get(gpr.rip, 0) + 1
        answer = not self.events or event != self.events[-1]
        name = Position(event) if answer else Position.at(event, gpr.rip, n)
        self.names[name] = len(self.gprs)
        self.by_index.append(name)
        self.events.append(event)
        self.gprs.append(gpr)


Record = Callable[..., RankRecording]


@pytest.fixture
def record(build: Callable[..., Path], rdb_home: Path, tmp_path: Path) -> Record:
    def run(source: str, *flags: str, arguments: tuple[str, ...] = ()) -> RankRecording:
        program = build(source, *flags)
        deadlines.native(
            [sys.executable, "-m", "rdb", "run", "--name", "it", "--", program, *arguments],
            check=False,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )
        return open_job("it").rank(0)

    return run


@pytest.fixture
def rounds(record: Record) -> Iterator[tuple[Timeline, Oracle]]:
    recording = record("rounds.c", "-O0")
    with Timeline(recording) as timeline:
        yield timeline, Oracle.of(recording)
    wait_for("all replicas are gone", lambda: not unreaped())


def test_what_is_prepared_is_what_is_found(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    chosen = random.Random(11)
    for _ in range(25):
        index = chosen.randrange(1, len(oracle.gprs))
        timeline.seek(oracle.by_index[index])
        timeline.prepare()
        assert timeline._past
        same(timeline, oracle, index)
        for back in range(1, min(index, 4)):
            assert timeline.step(forward=False).reason == "step"
            same(timeline, oracle, index - back, hashed=True)


def test_preparing_ends_when_interrupted(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    index = len(oracle.gprs) - 2
    timeline.seek(oracle.by_index[index])
    timers = [threading.Timer(delay / 2000, timeline.interrupt) for delay in range(20)]
    for timer in timers:
        timer.start()
    timeline.prepare()
    for timer in timers:
        timer.join()
    timeline.begin()
    same(timeline, oracle, index, hashed=True)
    assert timeline.step(forward=False).reason == "step"
    same(timeline, oracle, index - 1, hashed=True)


def test_bases_take_the_place_of_dear_snapshots(record: Record) -> None:
    recording = record("settle.c", "-O1")
    oracle = Oracle.of(recording)
    chosen = random.Random(7)
    made = 0
    with (
        mock.patch.object(Travel, "keep_if_worth", Travel.keep),
        mock.patch.object(bases, "_DEAR_S", 0.0),
        mock.patch.object(bases, "_FORKS", 0),
        mock.patch.object(bases, "_MEMORY_LEFT", 0.0),
        Timeline(recording) as timeline,
    ):
        for _ in range(60):
            index = chosen.randrange(len(oracle.gprs))
            timeline.seek(oracle.by_index[index])
            same(timeline, oracle, index, hashed=True)
            made += any(one.fork_s == 0.0 for one in list(timeline.travel.snapshots)[1:])
    assert made
    wait_for("all replicas are gone", lambda: not unreaped())


def same(timeline: Timeline, oracle: Oracle, index: int, hashed: bool = False) -> None:
    assert timeline.event == oracle.events[index]
    assert timeline.gpr == oracle.gprs[index]
    if hashed and index in oracle.hashes:
        assert timeline.registers().gpr == oracle.gprs[index]
        assert timeline.hash() == oracle.hashes[index]


def test_every_instruction_backwards(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    last = len(oracle.gprs) - 1
    assert last > 5000
    assert timeline.goto_end().reason == "end"
    same(timeline, oracle, last)
    for index in range(last - 1, -1, -1):
        assert timeline.step(forward=False).reason == "step"
        same(timeline, oracle, index, hashed=True)
    assert timeline.at_start
    assert timeline.step(forward=False).reason == "start"


def test_memory_going_back_is_that_of_a_replica_there(
    rounds: tuple[Timeline, Oracle], build: Callable[..., Path]
) -> None:
    """Memory told from what instructions wrote over, against a replica that stands there."""
    timeline, oracle = rounds
    timeline.goto_end()
    by_backlog = 0
    random_ = random.Random(7)
    for _ in range(len(oracle.gprs) - 1):
        assert timeline.step(forward=False).reason == "step"
        if random_.random() > 0.05:
            continue
        at = timeline.gpr.rsp - 256
        known = timeline._backlog is not None and timeline._backlog.index(timeline.position)
        by_backlog += known not in (None, False)
        told = timeline.read_memory(at, 1024)
        walker = timeline.travel.to(timeline.position)
        assert walker.agent.read(at, 1024) == told, timeline.position
        walker.close()
    assert by_backlog > 50


def test_seeks_names_and_steps_around(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    random_ = random.Random(4711)
    last = len(oracle.gprs) - 1
    spots = [*random_.choices(range(1, last), k=60), *list(oracle.hashes)[1:]]
    random_.shuffle(spots)
    for index in spots:
        timeline.seek(oracle.by_index[index])
        same(timeline, oracle, index, hashed=True)
        timeline.step(forward=False)
        same(timeline, oracle, index - 1)
        timeline.step()
        same(timeline, oracle, index)
    timeline.seek(oracle.by_index[last // 2])
    timeline.step(count=50)
    same(timeline, oracle, last // 2 + 50)
    assert timeline.name() == oracle.by_index[last // 2 + 50]
    timeline.step(forward=False, count=80)
    same(timeline, oracle, last // 2 - 30)
    assert timeline.name() == oracle.by_index[last // 2 - 30]


def test_steps_inside_addresses_are_single_steps(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    chosen = random.Random(7)
    last = len(oracle.gprs) - 1
    for number in range(60):
        index = chosen.randrange(last) if number else last - 20
        pc = oracle.gprs[index].rip
        first = pc - chosen.choice((0, 20, 300))
        end = pc + chosen.choice((1, 30, 500, 1 << 20))
        timeline.seek(oracle.by_index[index])
        outside = (
            at
            for at, gpr in enumerate(oracle.gprs[index + 1 :], index + 1)
            if not first <= gpr.rip < end
        )
        left = next(outside, last + 1)
        spot = chosen.randrange(index + 1, left + 1)
        stops = number % 2 and spot < left
        if stops:
            timeline.set_breakpoint(1, oracle.gprs[spot].rip)
            met = (
                at for at in range(index + 1, left) if oracle.gprs[at].rip == oracle.gprs[spot].rip
            )
            left = next(met)
        stopped = timeline.step_inside(first, end)
        timeline.clear_breakpoint(1)
        if left > last:
            assert stopped.reason == "end"
            continue
        assert stopped.reason == ("breakpoint" if stops else "step")
        same(timeline, oracle, left, hashed=True)
        assert timeline.name() == oracle.by_index[left]
        for back in range(1, min(left, 700 if number < 4 else 4)):
            assert timeline.step(forward=False).reason == "step"
            same(timeline, oracle, left - back)


@pytest.mark.parametrize("seed", range(3))
def test_steps_back_inside_addresses_are_single_steps(
    rounds: tuple[Timeline, Oracle], seed: int
) -> None:
    timeline, oracle = rounds
    chosen = random.Random(seed)
    for number in range(24):
        index = chosen.randrange(1, len(oracle.gprs))
        pc = oracle.gprs[index - 1].rip
        first = max(pc - chosen.choice((0, 20, 300, 1 << 46)), 0)
        end = pc + chosen.choice((1, 30, 500, 1 << 46))
        timeline.seek(oracle.by_index[index])
        stops = {oracle.gprs[chosen.randrange(index)].rip} if number % 2 else set()
        for stop in stops:
            timeline.set_breakpoint(1, stop)
        left = next(
            (
                at
                for at in range(index - 1, -1, -1)
                if oracle.gprs[at].rip in stops or not first <= oracle.gprs[at].rip < end
            ),
            0,
        )
        assert timeline.step_back_inside(first, end).reason in ("step", "start")
        timeline.clear_breakpoint(1)
        same(timeline, oracle, left, hashed=True)
        for back in range(1, min(left + 1, 4)):
            assert timeline.step(forward=False).reason == "step"
            same(timeline, oracle, left - back)


def test_an_interrupt_inside_addresses_stops_there(rounds: tuple[Timeline, Oracle]) -> None:
    timeline, oracle = rounds
    index = len(oracle.gprs) // 2
    steps = 7
    assert oracle.events[index] == oracle.events[index + steps]
    made = Walker.step

    def step(walker: Walker, count: int, **how: Any) -> Stop:
        stop = made(walker, steps, trace=True, blind=False)
        raise Interrupted(replace(stop, reason=StopReason.INTERRUPT))

    timeline.seek(oracle.by_index[index])
    with mock.patch.object(Walker, "step", step):
        assert timeline.step_inside(0, 1 << 47).reason == "interrupt"
    same(timeline, oracle, index + steps)
    assert timeline.step(forward=False).reason == "step"
    same(timeline, oracle, index + steps - 1)
    assert timeline.step(count=2).reason == "step"
    same(timeline, oracle, index + steps + 1)


def test_breakpoints_both_ways(rounds: tuple[Timeline, Oracle], build: Callable[..., Path]) -> None:
    timeline, oracle = rounds
    program = build("rounds.c", "-O0")
    for name in ("cmp", "fact", "main"):
        pc = symbol(timeline, program, name)
        hits = [index for index, gpr in enumerate(oracle.gprs) if gpr.rip == pc]
        assert hits
        timeline.set_breakpoint(1, pc)
        timeline.goto_start()
        for index in hits:
            assert timeline.cont() == Stopped("breakpoint", id=1, addr=pc)
            same(timeline, oracle, index)
            assert timeline.name() == oracle.by_index[index]
        assert timeline.cont().reason == "end"
        same(timeline, oracle, len(oracle.gprs) - 1)
        assert timeline.at_end
        assert timeline.cont().reason == "end"
        for index in reversed(hits):
            assert timeline.cont(forward=False) == Stopped("breakpoint", id=1, addr=pc)
            same(timeline, oracle, index)
        assert timeline.cont(forward=False).reason == "start"
        same(timeline, oracle, 0)


@pytest.mark.parametrize(("name", "length"), [("counter", 4), ("buffer", 8), ("table", 256)])
def test_watchpoints_both_ways(
    rounds: tuple[Timeline, Oracle], build: Callable[..., Path], name: str, length: int
) -> None:
    """`table` is wider than the processor can watch."""
    timeline, _ = rounds
    addr = symbol(timeline, build("rounds.c", "-O0"), name)
    seen = [(timeline.name(), timeline.read_memory(addr, length))]
    hardware = timeline.set_watchpoint(1, addr, length, 0)
    assert not (hardware and length > 32)
    by_events = 0
    while (stopped := timeline.cont()).reason != "end":
        assert (stopped.reason, stopped.id) == ("watchpoint", 1)
        by_events += stopped.by_event
        value = timeline.read_memory(addr, length)
        assert value != seen[-1][1]
        timeline.step(forward=False)
        assert timeline.read_memory(addr, length) == seen[-1][1]
        before = timeline.name()
        timeline.step()
        assert timeline.read_memory(addr, length) == value
        seen.append((before, value))
    assert len(seen) > 10
    assert (by_events > 0) == (name == "buffer")
    for index in range(len(seen) - 1, 0, -1):
        assert timeline.cont(forward=False).reason == "watchpoint"
        assert timeline.name() == seen[index][0]
        assert timeline.read_memory(addr, length) == seen[index - 1][1]
    assert timeline.cont(forward=False).reason == "start"


def test_last_change(rounds: tuple[Timeline, Oracle], build: Callable[..., Path]) -> None:
    timeline, _ = rounds
    addr = symbol(timeline, build("rounds.c", "-O0"), "counter")
    timeline.goto_end()
    final = timeline.read_memory(addr, 4)
    found = timeline.last_change(addr, 4)
    assert found is not None
    assert timeline.at_end
    timeline.seek(found)
    assert timeline.read_memory(addr, 4) != final
    timeline.step()
    assert timeline.read_memory(addr, 4) == final


def test_bisect(rounds: tuple[Timeline, Oracle], build: Callable[..., Path]) -> None:
    timeline, oracle = rounds
    addr = symbol(timeline, build("rounds.c", "-O0"), "counter")

    def counter() -> int:
        return int.from_bytes(timeline.read_memory(addr, 4), "little")

    search = Bisect(timeline)
    ask = search.start()
    while isinstance(ask, Probe):
        timeline.seek(ask.position)
        ask = search.answer("good" if counter() < 13 else "bad")
    assert isinstance(ask, Result) and not ask.gap
    timeline.seek(ask.before)
    before = oracle.names[timeline.name()]
    assert counter() == 12
    timeline.seek(ask.after)
    assert oracle.names[timeline.name()] == before + 1
    assert counter() == 13


def test_what_if_and_back(rounds: tuple[Timeline, Oracle], build: Callable[..., Path]) -> None:
    timeline, oracle = rounds
    pc = symbol(timeline, build("rounds.c", "-O0"), "fact")
    timeline.set_breakpoint(1, pc)
    timeline.cont()
    here = timeline.name()
    index = oracle.names[here]
    regs = timeline.registers()
    regs.gpr = regs.gpr._replace(rdi=6)
    timeline.set_registers(regs)
    assert timeline.branch
    assert timeline.cont().reason == "breakpoint"
    assert timeline.gpr.rdi == 5
    timeline.clear_breakpoint(1)
    # 6! = 720 is written where the recording wrote 2.
    assert timeline.cont().reason == "diverged"
    assert timeline.branch and timeline.read_memory(timeline.gpr.rip, 1)
    kept = timeline.keep_branch()
    assert timeline.step(forward=False).reason == "root"
    assert not timeline.branch
    same(timeline, oracle, index)
    timeline.enter_branch(kept)
    assert timeline.branch and timeline.gpr == kept.walker.gpr
    assert timeline.cont().reason == "diverged"
    kept.close()
    timeline.step(forward=False)
    assert not timeline.branch
    same(timeline, oracle, index)
    timeline.step()
    same(timeline, oracle, index + 1)


def test_a_fault_ends_the_recording(record: Record) -> None:
    recording = record("faults.c", "-O0", arguments=("segv",))
    with Timeline(recording) as timeline:
        oracle = Oracle.of(recording)
        stopped = timeline.cont()
        assert stopped.reason == "signal" and stopped.signal == signal.SIGSEGV
        same(timeline, oracle, len(oracle.gprs) - 1)
        assert timeline.cont().reason == "end"
        for index in range(len(oracle.gprs) - 2, len(oracle.gprs) - 500, -1):
            timeline.step(forward=False)
            same(timeline, oracle, index)


def test_interrupted_and_back(record: Record) -> None:
    recording = record("spin.c", "-O1")
    with Timeline(recording) as timeline:
        here = timeline.name()
        # An address that is never arrived at, so that every instruction of the loop is looked at.
        timeline.set_watchpoint(1, timeline.gpr.rsp - 4096, 4, 0)

        def interrupt_soon() -> None:
            while not timeline.control._running:  # an interrupt before the motion is forgotten
                time.sleep(0.01)
            timeline.interrupt()

        presses = threading.Thread(target=interrupt_soon, daemon=True)
        presses.start()
        stopped = timeline.cont()
        presses.join()
        assert stopped == Stopped("interrupt")
        assert timeline.name() == here
    wait_for("all replicas are gone", lambda: not unreaped())


def test_nothing_is_left_behind(record: Record) -> None:
    recording = record("rounds.c", "-O0")
    script = (
        "import os, sys\n"
        "from rdb.recording import open_job\n"
        "from rdb.timeline.timeline import Timeline\n"
        "timeline = Timeline(open_job('it').rank(0))\n"
        "timeline.goto_end(); timeline.step(forward=False); timeline.registers()\n"
        "timeline.travel.keep(timeline._need_live())\n"
        "print(*[one.replica.pid for one in timeline.travel.snapshots], flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert recording.last_event > 0
    run = deadlines.native([sys.executable, "-c", script], check=False)
    assert run.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in run.stdout.split()]
    assert len(pids) > 1
    wait_ended(pids, 60)


def test_replicas_that_run_are_not_left_behind(record: Record) -> None:
    """They look at no socket."""
    record("spin.c", "-O1")
    script = (
        "import os, threading\n"
        "from rdb.recording import open_job\n"
        "from rdb.replay.replica import Replica\n"
        "root = Replica.start(open_job('it').rank(0))\n"
        "threads = []\n"
        "for replica in (root, root.fork(), root.fork().fork()):\n"
        "    run = threading.Thread(target=replica.agent.step, args=(1 << 40,), daemon=True)\n"
        "    run.start()\n"
        "    threads.append(run)\n"
        "    ticks = 0\n"
        "    while ticks < 5:  # it runs\n"
        "        fields = open(f'/proc/{replica.pid}/stat').read().rpartition(')')[2].split()\n"
        "        ticks = int(fields[11])\n"
        "    print(replica.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = deadlines.native([sys.executable, "-c", script], check=False)
    assert run.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in run.stdout.split()]
    assert len(pids) == 3
    wait_ended(pids, 20)  # much less than the steps take


def wait_ended(pids: list[int], deadline_s: float) -> None:
    until = deadlines.Deadline(deadline_s)
    while any(alive(pid) for pid in pids):
        assert not until.over(), f"replicas {pids} are still there"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
