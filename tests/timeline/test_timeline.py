"""The timeline against brute force: random programs, random walks, both ways."""

from __future__ import annotations

import bisect
import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from fake_replica import (
    DATA,
    Answer,
    FakeAgent,
    FakeReplica,
    Program,
    State,
    all_states,
    holds,
    initial,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from windows import short_windows

from rdb.replay.agent import AgentError
from rdb.replay.protocol import Op
from rdb.timeline import before, scan
from rdb.timeline.position import Position, Steps, ToEnd
from rdb.timeline.stopped import NoSuchPosition, Stopped
from rdb.timeline.timeline import Timeline

COUNTERS = 16  # memory[0..15] are loop counters, 16.. are data


@st.composite
def programs(draw: st.DrawFn, events: int = 3) -> Program:
    """Nested loops around stores, loads and events; it always ends."""
    code: list[tuple[str, int, int]] = []

    def block(depth: int, counter: int) -> int:
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["plain", "store", "sys", "loop"]))
            if kind == "loop" and depth < 3 and counter < COUNTERS:
                code.append(("seti", counter, draw(st.integers(1, 5))))
                top = 0x400000 + 16 * len(code)
                mine, counter = counter, counter + 1
                counter = block(depth + 1, counter)
                code.append(("decjnz", mine, top))
            elif kind == "store":
                # 16 and 20 are written often, also with the value that is there already.
                code.append(("store", draw(st.sampled_from([16, 20])), draw(st.integers(0, 3))))
            elif kind == "sys":
                code.append(("sys", 0, 0))
            else:
                code.append(("addi", draw(st.integers(1, 3)), draw(st.integers(0, 2))))
        return counter

    block(0, 0)
    code.append(draw(st.sampled_from([("sys", 0, 0), ("fault", 0, 0)])))
    answers = st.builds(
        Answer,
        st.integers(0, 3),
        st.lists(
            st.tuples(st.sampled_from([16, 20, 24]), st.binary(min_size=1, max_size=2)), max_size=1
        ),
    )
    # The log may end early (a killed rank), never late: then the last `sys` has no answer.
    crossings = 0
    probe = Program(code, [Answer(0)] * 100_000)
    if code[-1][0] == "sys":
        probe.code[-1] = ("fault", 0, 0)
    crossings = all_states(probe)[-1].event
    probe.code[-1] = code[-1]
    log = draw(st.lists(answers, min_size=crossings, max_size=crossings))
    return Program(code, log)


@dataclass
class Oracle:
    """The complete list of states, and where in it we should be."""

    program: Program
    states: list[State]
    at: int = 0

    @classmethod
    def of(cls, program: Program) -> Oracle:
        return cls(program, all_states(program))

    def name(self, at: int) -> Position:
        state = self.states[at]
        start = bisect.bisect_left(self.states, state.event, key=lambda one: one.event)
        if at == start:
            return Position(state.event)
        n = sum(one.pc == state.pc for one in self.states[start : at + 1])
        return Position.at(state.event, state.pc, n)

    def changed(self, at: int, addr: int) -> bool:
        """Does going from state at-1 to state at change the two bytes at addr?"""
        old, new = self.states[at - 1].memory, self.states[at].memory
        return old[addr : addr + 2] != new[addr : addr + 2]


Walk = tuple[Timeline, Oracle]


def same(timeline: Timeline, oracle: Oracle) -> None:
    expected = oracle.states[oracle.at]
    assert timeline.gpr == expected.gpr()
    assert timeline.event == expected.event


def deep(timeline: Timeline, oracle: Oracle) -> None:
    """Memory too, and the name: costs more."""
    same(timeline, oracle)
    expected = oracle.states[oracle.at]
    assert timeline.read_memory(DATA, 256) == bytes(expected.memory)
    assert timeline.name() == oracle.name(oracle.at)
    assert timeline.registers().gpr == expected.gpr()


ACTIONS = st.one_of(
    st.tuples(st.just("step"), st.integers(1, 30)),
    st.tuples(st.just("back"), st.integers(1, 30)),
    st.tuples(st.sampled_from(["cont", "rcont"]), st.just(0)),
    st.tuples(st.just("seek"), st.integers(0, 10**6)),
    st.tuples(st.sampled_from(["start", "end", "deep"]), st.just(0)),
    st.tuples(st.just("break"), st.integers(0, 40)),
    st.tuples(st.just("condition"), st.integers(0, 40)),
    st.tuples(st.just("watch"), st.sampled_from([16, 20])),
    st.tuples(st.just("clear"), st.just(0)),
)


class Walker:
    """Does the same to the timeline and, by brute force, to the list of states."""

    def __init__(self, timeline: Timeline, oracle: Oracle) -> None:
        self.timeline, self.oracle = timeline, oracle
        self.breaks: dict[int, bytes] = {}  # pc -> condition
        self.watch: int | None = None

    def do(self, action: str, value: int) -> None:
        timeline, oracle = self.timeline, self.oracle
        last = len(oracle.states) - 1
        match action:
            case "step" | "back":
                for _ in range(value):
                    self.one_step(action == "step")
            case "cont":
                self.cont(range(oracle.at + 1, last + 1), timeline.cont(), "end")
            case "rcont":
                self.cont_back()
            case "seek":
                oracle.at = value % (last + 1)
                assert timeline.seek(oracle.name(oracle.at)).reason == "seek"
            case "start":
                oracle.at = 0
                assert timeline.goto_start().reason == "seek"
                assert timeline.at_start
            case "end":
                oracle.at = last
                assert timeline.goto_end().reason == "end"
                assert timeline.at_end
            case "deep":
                deep(timeline, oracle)
                assert timeline.at_start == (oracle.at == 0)
                assert timeline.at_end == (oracle.at == last)
            case "break" | "condition":
                pc = oracle.program.pc(value % len(oracle.program.code))
                cond = bytes([0, 2]) if action == "condition" else b""
                self.breaks[pc] = cond
                timeline.set_breakpoint(pc, pc, cond)
            case "watch":
                self.watch = value
                timeline.set_watchpoint(7, DATA + value, 2, 0)
            case "clear":
                for pc in self.breaks:
                    timeline.clear_breakpoint(pc)
                self.breaks.clear()
                self.watch = None
                timeline.clear_watchpoint(7)
        same(timeline, oracle)

    def one_step(self, forward: bool) -> None:
        oracle = self.oracle
        stopped = self.timeline.step(forward)
        to = oracle.at + (1 if forward else -1)
        if to == len(oracle.states):
            assert stopped.reason in ("end", "signal")
        elif to < 0:
            assert stopped.reason == "start"
        else:
            oracle.at = to
            written = max(to, to + (not forward))
            hit = self.watch is not None and oracle.changed(written, self.watch)
            assert stopped.reason == ("watchpoint" if hit else "step")
        same(self.timeline, oracle)

    def stops_at(self, at: int) -> bool:
        state = self.oracle.states[at]
        cond = self.breaks.get(state.pc)
        return cond is not None and holds(cond, state)

    def cont(self, ahead: range, stopped: Stopped, otherwise: str) -> None:
        for at in ahead:
            if self.watch is not None and self.oracle.changed(at, self.watch):
                self.oracle.at = at
                assert stopped.reason == "watchpoint"
                assert stopped.by_event == (
                    self.oracle.states[at].event != self.oracle.states[at - 1].event
                )
                return
            if self.stops_at(at):
                self.oracle.at = at
                assert stopped.reason == "breakpoint"
                return
        assert stopped.reason in (otherwise, "signal")
        self.oracle.at = len(self.oracle.states) - 1

    def cont_back(self) -> None:
        oracle = self.oracle
        stopped = self.timeline.cont(forward=False)
        for at in range(oracle.at - 1, -1, -1):
            if self.watch is not None and oracle.changed(at + 1, self.watch):
                # The write from `at` comes after a breakpoint at `at` itself.
                assert stopped.reason == "watchpoint"
                oracle.at = at
                return
            if self.stops_at(at):
                assert stopped.reason == "breakpoint"
                oracle.at = at
                return
        assert stopped.reason == "start"
        oracle.at = 0


@settings(max_examples=120)
@given(programs(), st.lists(ACTIONS, max_size=25))
def test_random_walks_agree_with_brute_force(
    program: Program, actions: list[tuple[str, int]]
) -> None:
    random_walk(program, actions)


@settings(max_examples=120)
@given(programs(), st.lists(ACTIONS, max_size=25))
def test_random_walks_with_short_windows_and_many_snapshots(
    program: Program, actions: list[tuple[str, int]]
) -> None:
    with short_windows(), mock.patch.object(scan, "_MANY", 1):
        random_walk(program, actions)


def random_walk(program: Program, actions: list[tuple[str, int]]) -> None:
    open_before = FakeReplica.open_count
    with Timeline(None, FakeReplica.start(program)) as timeline:
        walker = Walker(timeline, Oracle.of(program))
        for action, value in actions:
            walker.do(action, value)
            if value % 3 == 0:
                timeline.prepare()
        deep(timeline, walker.oracle)
    assert FakeReplica.open_count == open_before


def loop_program(outer: int, inner: int, events: int = 2) -> Program:
    """for outer: event; for inner: memory[16] changes; then the end."""
    code: list[tuple[str, int, int]] = []
    log: list[Answer] = []
    for _ in range(events):
        code.append(("sys", 0, 0))
        log.append(Answer(len(log)))
        code.append(("seti", 0, outer))
        code.append(("addi", 2, 1))
        top = 0x400000 + 16 * (len(code) - 1)
        code.append(("seti", 1, inner))
        code.append(("addi", 1, 1))
        code.append(("store", 16, 1))
        code.append(("decjnz", 1, top + 16 * 2))
        code.append(("decjnz", 0, top))
    code.append(("sys", 0, 0))
    return Program(code, log)


@pytest.fixture
def long_loop() -> Iterator[Walk]:
    program = loop_program(outer=40, inner=200)
    with Timeline(None, FakeReplica.start(program)) as timeline:
        yield timeline, Oracle.of(program)


def test_reverse_steps_in_a_long_interval(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = len(oracle.states) - 7
    timeline.seek(oracle.name(oracle.at))
    for _ in range(3000):
        oracle.at -= 1
        assert timeline.step(forward=False) == Stopped("step")
        same(timeline, oracle)
    deep(timeline, oracle)


def test_first_arrival_after_a_long_loop_is_approached(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = len(oracle.states) - 1  # the last system call: its pc is arrived at only once
    timeline.goto_end()
    for _ in range(5):
        oracle.at -= 1
        timeline.step(forward=False)
        deep(timeline, oracle)


def test_reverse_continue_stands_never_where_it_was(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    pc = oracle.program.pc(5)
    hits = [at for at, state in enumerate(oracle.states) if state.pc == pc]
    timeline.set_breakpoint(1, pc)
    oracle.at = hits[700]
    timeline.seek(oracle.name(oracle.at))
    for expected in (hits[699], hits[698], hits[697]):
        assert timeline.cont(forward=False).reason == "breakpoint"
        oracle.at = expected
        deep(timeline, oracle)


def test_an_interrupted_motion_goes_back_to_where_it_was(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = 5000
    timeline.seek(oracle.name(oracle.at))
    timeline.registers()
    timeline._need_live().agent.interrupt_after = 100  # type: ignore[attr-defined]
    assert timeline.cont() == Stopped("interrupt")
    deep(timeline, oracle)


def test_a_position_the_recording_does_not_have(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = 100
    timeline.seek(oracle.name(oracle.at))
    for text in ("3", "1:0x400020:100000", "0:0x400000:2", "1:0x500000:1"):
        with pytest.raises(NoSuchPosition):
            timeline.seek(Position.parse(text))
        deep(timeline, oracle)


def test_a_branch_leaves_the_recording_whole(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = 1234
    timeline.seek(oracle.name(oracle.at))
    timeline.write_memory(DATA + 16, timeline.read_memory(DATA + 16, 2))
    assert not timeline.branch, "writing what is there changes nothing"
    timeline.write_memory(DATA + 1, b"\x09")
    assert timeline.branch
    timeline.step(count=5)
    assert timeline.read_memory(DATA + 1, 1) != oracle.states[1239].memory[1:2]
    assert timeline.name() == oracle.name(1234)
    assert timeline.step(forward=False).reason == "root"
    assert not timeline.branch
    deep(timeline, oracle)
    timeline.write_memory(DATA + 1, b"\x09")
    assert timeline.step(forward=False).reason == "step"
    oracle.at = 1233
    deep(timeline, oracle)


def test_registers_set_open_a_branch_too(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    regs = timeline.registers()
    timeline.set_registers(regs)
    assert not timeline.branch
    regs.gpr = regs.gpr._replace(rbx=77)
    timeline.set_registers(regs)
    assert timeline.branch and timeline.gpr.rbx == 77
    timeline.goto_start()
    assert not timeline.branch
    deep(timeline, oracle)


def test_few_snapshots_are_kept(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    before = FakeReplica.open_count
    for at in range(0, len(oracle.states), 997):
        oracle.at = at
        timeline.seek(oracle.name(at))
        timeline.step(forward=False)
        timeline.registers()
    assert FakeReplica.open_count - before <= 26
    assert len(timeline.travel.snapshots) <= 24


def test_last_change(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    oracle.at = len(oracle.states) - 1
    timeline.goto_end()
    found = timeline.last_change(DATA + 16, 2)
    assert found is not None
    same(timeline, oracle)
    at = max(at for at in range(1, len(oracle.states)) if oracle.changed(at, 16))
    timeline.seek(found)
    oracle.at = at - 1
    deep(timeline, oracle)
    assert timeline.last_change(DATA + 200, 2) is None


def test_a_watchpoint_that_is_refused_leaves_nothing_behind(long_loop: Walk) -> None:
    timeline, _ = long_loop
    watch = FakeAgent.watch

    def refusing(agent: FakeAgent, id_: int, addr: int, length: int, kind: int = 0) -> bool:
        if addr + length >= 1 << 64:  # as interposer/seek/watch.c does
            raise AgentError(Op.WATCH, errno.EINVAL)
        return watch(agent, id_, addr, length, kind)

    with mock.patch.object(FakeAgent, "watch", refusing):
        with pytest.raises(AgentError):
            timeline.set_watchpoint(7, (1 << 64) - 1, 4)
        assert timeline.step().reason == "step"
        assert timeline.cont().reason == "end"


def test_what_is_lost_after_the_recording_has_grown_is_told() -> None:
    program = loop_program(outer=4, inner=2)
    recording: Any = mock.Mock(images=(), end=None, last_event=2, settled_event=2)
    recording.schedule = program.schedule()
    with (
        mock.patch.object(FakeAgent, "until", create=True),
        Timeline(recording, FakeReplica.start(program)) as timeline,
    ):
        for lost in ("one", "two"):
            assert timeline.travel._images is not None
            timeline.travel._images.lost.append(lost)
            assert timeline.step().text == lost
            assert timeline.step().text == ""
            timeline.renew()


def test_trails_are_positions_too(long_loop: Walk) -> None:
    timeline, oracle = long_loop
    timeline.seek(Position(1).then(Steps(500)))
    oracle.at = next(i for i, s in enumerate(oracle.states) if s.event == 1) + 500
    deep(timeline, oracle)
    timeline.seek(Position(2).then(ToEnd()))
    oracle.at = len(oracle.states) - 1
    deep(timeline, oracle)


def test_the_start_is_where_the_recording_starts() -> None:
    program = loop_program(2, 2)
    assert all_states(program)[0].key() == initial(program).key()


def test_calls_are_told_from_the_middle_of_others() -> None:
    def start(code: str) -> list[int]:
        return list(before._call_before(bytes.fromhex(code).rjust(8, b"\x90"), 100))

    assert start("e8 11 22 33 44") == [95]
    assert start("ff d0") == [98]  # *%rax
    assert start("ff 14 24") == [97]  # *(%rsp)
    assert start("ff 55 38") == [97]  # *0x38(%rbp)
    assert start("ff 54 24 08") == [96]  # *0x8(%rsp)
    assert start("ff 15 11 22 33 44") == [94]  # *0x44332211(%rip)
    assert start("ff 94 24 11 22 33 44") == [93]
    assert start("41 ff 55 38") == []  # *0x38(%r13)
    assert start("ff 55 38 90") == []
    assert start("ff 20") == []  # a jump
