"""Threads on the timeline, against brute force: random programs that were switched at random."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fake_replica import (
    CODE,
    DATA,
    SIZE,
    Answer,
    FakeReplica,
    Instr,
    Program,
    State,
    execute,
    initial,
)
from fake_replica import all_states as states_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from windows import short_windows

from rdb.recording.log.threads import Schedule
from rdb.timeline.position import Position
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

_EVENTS_MAX = 60


class Scheduler:
    """Writes the log of a program as a recording would that switches threads at random."""

    def __init__(self, code: list[Instr], starts: list[int], seed: int) -> None:
        self.code, self.starts = code, starts
        self.random = random.Random(seed)
        self.program = Program(code, [])
        self.state = initial(self.program)
        self.asked: set[int] = set()
        self.ready: set[int] = set()
        self.born = 1

    def record(self) -> Program:
        while len(self.program.log) < _EVENTS_MAX:
            op = self.code[(self.state.pc - CODE) // SIZE][0]
            if op == "end":
                break
            if self.random.random() < 0.08:
                self._event("preempt", self.state.thread, after=self.state.made)
                self.ready.add(self.state.thread)
                self._somebody_goes_on()
            elif op == "exit":
                self._event("exit", self.state.thread)
                if not self.ready | self.asked:
                    break
                self._somebody_goes_on()
            elif op == "sys":
                self.asked.add(self.state.thread)
                self._somebody_goes_on()
            else:
                execute(self.program, self.state)
        return self.program

    def _somebody_goes_on(self) -> None:
        thread = self.random.choice(sorted(self.asked | self.ready))
        if thread in self.ready:
            self.ready.discard(thread)
            self._event("resume", thread)
            return
        self.asked.discard(thread)
        more: dict[str, int] = {"result": self.random.randrange(4)}
        if self.born < len(self.starts) and self.random.random() < 0.6:
            self.born += 1
            more = {"creates": self.born, "result": self.starts[self.born - 1]}
            self.ready.add(self.born)
        self._event("answer", thread, **more)

    def _event(self, kind: str, thread: int, result: int = 0, **more: int) -> None:
        writes = []
        if kind == "answer" and self.random.random() < 0.3:
            writes = [(self.random.choice([40, 44]), bytes([self.random.randrange(3)]))]
        self.program.log.append(Answer(result, writes, thread, kind, **more))
        execute(self.program, self.state)


def code_of(numbers: random.Random, threads: int) -> tuple[list[Instr], list[int]]:
    """A block of its own for every thread: stores, calls, loops; workers exit, main ends."""
    code: list[Instr] = []
    starts = []
    for thread in range(threads):
        starts.append(len(code))
        for part in range(numbers.randrange(1, 5)):
            counter = 4 * thread + part
            loop = numbers.random() < 0.5
            if loop:
                code.append(("seti", counter, numbers.randrange(1, 6)))
            top = CODE + SIZE * len(code)
            for _ in range(numbers.randrange(0 if loop else 1, 4)):
                kind = numbers.choice(["sys", "sys", "store", "addi"])
                if kind == "sys":
                    code.append(("sys", 0, 0))
                elif kind == "store":
                    code.append(("store", numbers.choice([40, 44]), numbers.randrange(4)))
                else:
                    code.append(("addi", numbers.randrange(1, 4), numbers.randrange(3)))
            if loop:
                code.append(("decjnz", counter, top))
        code.append(("exit" if thread else "end", 0, 0))
    return code, starts


def recorded(seed: int, threads: int = 3) -> Program:
    code, starts = code_of(random.Random(seed), threads)
    return Scheduler(code, starts, seed).record()


@dataclass
class Oracle:
    program: Program
    states: list[State]
    at: int = 0

    def threads(self) -> list[int]:
        state = self.states[self.at]
        return sorted({state.thread, *state.others})

    def forward(self, thread: int) -> int | None:
        """After the next instruction that the thread completes."""
        later = range(self.at + 1, len(self.states))
        done = next((at for at in later if self.states[at].executed == thread), None)
        # Its last one, with which it ends, leads nowhere.
        return None if done is None or self.states[done].idle else done

    def back(self, thread: int) -> int | None:
        """Before the last one that it completed."""
        done = next((at for at in range(self.at, 0, -1) if self.ran(at, thread)), None)
        if done is None:
            return None
        return next(
            at
            for at in range(done - 1, -1, -1)
            if self.states[at].thread == thread and not self.states[at].idle
        )

    def ran(self, at: int, thread: int) -> bool:
        return self.states[at].executed == thread

    def handed_over(self, at: int) -> int:
        """The first state after the interval of this one."""
        event = self.states[at].event
        return next(i for i in range(at, len(self.states)) if self.states[i].event > event)

    def index(self, timeline: Timeline) -> int:
        key = (timeline.event, timeline.gpr)
        name = timeline.name()
        found = [
            at
            for at, state in enumerate(self.states)
            if (state.event, state.gpr()) == key and self.name(at) == name
        ]
        assert len(found) == 1
        return found[0]

    def name(self, at: int) -> Position:
        state = self.states[at]
        start = next(i for i, one in enumerate(self.states) if one.event == state.event)
        if at == start:
            return Position(state.event)
        return Position.at(
            state.event, state.pc, sum(s.pc == state.pc for s in self.states[start : at + 1])
        )

    def same(self, timeline: Timeline) -> None:
        expected = self.states[self.at]
        assert timeline.event == expected.event
        assert timeline.gpr == expected.gpr()
        assert timeline.thread == expected.thread


ACTIONS = st.tuples(
    st.sampled_from(["step", "step", "back", "back", "cont", "rcont", "seek", "break", "clear"]),
    st.integers(0, 10**6),
    st.integers(1, 12),
)


def walk(seed: int, actions: list[tuple[str, int, int]]) -> None:
    program = recorded(seed)
    states = states_of(program)
    oracle = Oracle(program, states)
    breaks: set[int] = set()

    def hit(at: int) -> bool:
        return states[at].pc in breaks and not states[at].idle

    with Timeline(None, FakeReplica.start(program), program.schedule()) as timeline:
        for action, value, count in actions:
            match action:
                case "seek":
                    oracle.at = value % len(states)
                    timeline.seek(oracle.name(oracle.at))
                case "break":
                    breaks.add(CODE + SIZE * (value % len(program.code)))
                    timeline.set_breakpoint(*[CODE + SIZE * (value % len(program.code))] * 2)
                case "clear":
                    for pc in breaks:
                        timeline.clear_breakpoint(pc)
                    breaks.clear()
                case "cont":
                    stopped = timeline.cont()
                    hits = [at for at in range(oracle.at + 1, len(states)) if hit(at)]
                    assert stopped.reason == ("breakpoint" if hits else "end")
                    oracle.at = hits[0] if hits else len(states) - 1
                case "rcont":
                    stopped = timeline.cont(forward=False)
                    hits = [at for at in range(oracle.at) if hit(at)]
                    assert stopped.reason == ("breakpoint" if hits else "start")
                    oracle.at = hits[-1] if hits else 0
                case "step" | "back":
                    threads = oracle.threads()
                    thread = threads[value % len(threads)]
                    for _ in range(count):
                        if thread not in oracle.threads():
                            break
                        one_step(timeline, oracle, thread, action == "step", hit)
                        oracle.same(timeline)
            oracle.same(timeline)


def one_step(timeline: Timeline, oracle: Oracle, thread: int, forward: bool, hit) -> None:  # type: ignore[no-untyped-def]
    stopped = timeline.step(forward, thread=thread)
    to = oracle.forward(thread) if forward else oracle.back(thread)
    if to is None and forward:
        assert stopped.reason in ("gone", "end", "breakpoint")
        found = oracle.index(timeline)
        assert found >= oracle.at
        oracle.at = found
        return
    states, at = oracle.states, oracle.at
    met = None
    if forward:
        assert to is not None
        others = (i for i in range(at + 1, to) if states[i].thread != thread)
        met = next((i for i in others if hit(i)), None)
    elif to is None:
        # It may have been there, and stopped before it made an instruction.
        if stopped.reason == "breakpoint":
            met = max(i for i in range(at) if hit(i) and states[i].thread != thread)
    elif states[to].event < states[at].event:
        # What the others did after it ran last, to here; it stood where it stands, although it may
        # have gone on and been stopped again.
        between = range(oracle.handed_over(to), at)
        met = max((i for i in between if hit(i) and states[i].thread != thread), default=None)
    if met is not None:
        assert stopped.reason == "breakpoint"
        oracle.at = met
    elif to is None:
        assert stopped.reason == "start"
        assert stopped.thread in (0, thread)
    else:
        assert stopped.reason == "step"
        oracle.at = to


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.lists(ACTIONS, max_size=20))
# Stopped at a breakpoint where it stands; others met one between two intervals of the thread.
@example(155368, [("seek", 462967, 4), ("break", 702853, 2), ("back", 951660, 3)])
@example(
    74739, [("break", 460715, 2), ("step", 943424, 8), ("step", 776196, 6), ("back", 680591, 6)]
)
def test_random_walks_agree_with_brute_force(
    seed: int, actions: list[tuple[str, int, int]]
) -> None:
    walk(seed, actions)


@settings(max_examples=120)
@given(st.integers(0, 10**6), st.lists(ACTIONS, max_size=20))
# The hit at which one stands has another name.
@example(
    429878, [("break", 207089, 4), ("seek", 72285, 7), ("rcont", 38871, 8), ("rcont", 769594, 4)]
)
@example(
    467171, [("cont", 94807, 12), ("break", 792762, 8), ("back", 658238, 4), ("rcont", 474164, 1)]
)
def test_random_walks_with_short_windows_and_many_snapshots(
    seed: int, actions: list[tuple[str, int, int]]
) -> None:
    with short_windows():
        walk(seed, actions)


def two_threads() -> Program:
    """1 waits in its second call while 2, stopped once in between, stores and ends."""
    code: list[Instr] = [
        ("sys", 0, 0),
        ("addi", 1, 1),
        ("sys", 0, 0),
        ("addi", 1, 1),
        ("end", 0, 0),
        ("movi", 2, 7),
        ("store", 40, 2),
        ("addi", 1, 1),
        ("exit", 0, 0),
    ]
    log = [
        Answer(5, creates=2),
        Answer(0, thread=2, kind="resume"),
        Answer(0, thread=2, kind="preempt", after=1),
        Answer(0, thread=2, kind="resume"),
        Answer(0, thread=2, kind="exit"),
        Answer(3, [(44, b"\x09")], thread=1),
    ]
    return Program(code, log)


def timeline_of(program: Program) -> Timeline:
    return Timeline(None, FakeReplica.start(program), program.schedule())


def test_stepping_a_call_that_waits_ends_with_its_answer() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.seek(Position.at(1, program.pc(2)))
        assert timeline.step(thread=1) == Stopped("step")
        assert (timeline.event, timeline.thread, timeline.gpr.rax) == (6, 1, 3)
        assert timeline.step(forward=False, thread=1) == Stopped("step")
        assert timeline.name() == Position.at(1, program.pc(2))


def test_a_step_alone_does_not_let_the_others_go_on() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.seek(Position.at(1, program.pc(2)))
        assert timeline.step(thread=1, alone=True) == Stopped("step", thread=1)
        assert (timeline.event, timeline.thread) == (2, 2)
        assert timeline.registers(1).gpr.rip == program.pc(2)
        # It stands before its call: the last instruction is the one before that.
        assert timeline.step(forward=False, thread=1) == Stopped("step")
        assert timeline.gpr.rip == program.pc(1)


def test_breakpoints_of_others_stop_a_step() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.set_breakpoint(1, program.pc(6))
        timeline.seek(Position.at(1, program.pc(2)))
        stopped = timeline.step(thread=1)
        assert (stopped.reason, timeline.thread) == ("breakpoint", 2)
        timeline.seek(Position(6))
        stopped = timeline.step(forward=False, thread=1)
        assert (stopped.reason, timeline.thread) == ("breakpoint", 2)


def test_a_thread_that_ends_is_said_to_be_gone() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.seek(Position.at(4, program.pc(8)))
        stopped = timeline.step(thread=2)
        assert (stopped.reason, stopped.text) == ("gone", "thread 2 does not run again")
        timeline.seek(Position(6))
        assert timeline.step(thread=2).reason == "gone"
        assert timeline.step(forward=False, thread=2).reason == "step"
        assert (timeline.event, timeline.thread, timeline.gpr.rip) == (4, 2, program.pc(8))


def test_a_thread_that_has_not_started_is_stepped_to_its_start() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        assert timeline.step(thread=2) == Stopped("step")
        assert (timeline.event, timeline.thread, timeline.gpr.rip) == (2, 2, program.pc(5))


def test_the_first_instruction_of_a_thread_is_its_start() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.seek(Position(2))
        stopped = timeline.step(forward=False, thread=2)
        assert (stopped.reason, stopped.thread, timeline.event) == ("start", 2, 2)


def test_going_back_over_a_switch_in_a_computation() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.seek(Position.at(4, program.pc(7)))
        assert timeline.step(forward=False, thread=2) == Stopped("step")
        assert timeline.gpr.rip == program.pc(6)
        assert timeline.step(forward=False, thread=2) == Stopped("step")
        assert (timeline.event, timeline.gpr.rip) == (2, program.pc(5))
        assert timeline.step(thread=2) == Stopped("step")
        assert timeline.step(thread=2) == Stopped("step")
        assert (timeline.event, timeline.gpr.rip) == (4, program.pc(7))


def test_a_change_by_an_event_is_of_the_thread_that_asked() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        timeline.set_watchpoint(3, DATA + 44, 1)
        timeline.goto_end()
        stopped = timeline.cont(forward=False)
        assert (stopped.reason, stopped.by_event, stopped.thread) == ("watchpoint", True, 1)
        assert timeline.event == 5
        timeline.set_watchpoint(4, DATA + 40, 2)
        timeline.goto_start()
        stopped = timeline.cont()
        assert (stopped.reason, stopped.id, timeline.thread) == ("watchpoint", 4, 2)


def test_threads_are_those_that_are_there() -> None:
    program = two_threads()
    with timeline_of(program) as timeline:
        assert [one.number for one in timeline.threads()] == [1]
        timeline.seek(Position(1))
        assert [one.number for one in timeline.threads()] == [1, 2]
        timeline.seek(Position(6))
        assert [one.number for one in timeline.threads()] == [1]


def test_schedule() -> None:
    schedule = Schedule([(0, 1), (4, 2), (5, 2), (7, 0), (8, 1), (12, -1), (13, 2)])
    assert schedule.threaded and not schedule.plain
    assert [schedule.runner(event) for event in (0, 3, 4, 6, 7, 8, 12, 99)] == [
        *(1, 1, 2, 2, 0, 1, -1, 2),
    ]
    assert schedule.preempted(7) and not schedule.preempted(12)
    assert schedule.idle(7) and schedule.idle(12) and not schedule.idle(8)
    assert schedule.last_run(1, 7) == 3
    assert schedule.last_run(2, 12) == 6
    assert schedule.last_run(2, 3) is None
    assert schedule.next_run(2, 7) == 13
    assert schedule.next_run(2, 5) == 5
    assert schedule.next_run(1, 9) == 9
    assert schedule.next_run(1, 13) is None
    assert Schedule().plain and Schedule().runner(1000) == 1
