"""Steps of single threads on real recordings, compared with stepping everything forward once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rdb.errors import RdbError
from rdb.recording import Kind, open_job
from rdb.recording.log.threads import MAIN
from rdb.recording.rank import RankRecording
from rdb.replay.agent import Gpr, StopReason, ThreadState
from rdb.replay.replica import Replica
from rdb.timeline.position import Position, Steps
from rdb.timeline.timeline import Timeline

MAX_STATES = 400_000


class Oracle:
    """Every state, and which thread completed an instruction on the way to it (0: none)."""

    def __init__(self, recording: RankRecording) -> None:
        self.states: list[tuple[int, Gpr]] = []
        self.done: list[int] = [0]
        self.first: dict[int, int] = {}
        kinds = {}
        replica = Replica.start(recording)
        try:
            self._add(replica.agent.hello().event, replica.agent.get_regs().gpr)
            while len(self.states) < MAX_STATES:
                before = self.states[-1]
                stop = replica.agent.step(1)
                if stop.reason is not StopReason.TARGET:
                    break
                self._add(stop.event, stop.gpr)
                if stop.event == before[0]:
                    self.done.append(stop.gpr.thread)
                    continue
                kinds[stop.event] = recording.event(stop.event)
                called = kinds[stop.event].kind in (Kind.SYSCALL, Kind.HYPERCALL, Kind.TSC)
                self.done.append(kinds[stop.event].thread if called else 0)
        finally:
            replica.close()
        self.idle = [recording.schedule.idle(event) for event, _ in self.states]

    def _add(self, event: int, gpr: Gpr) -> None:
        self.first.setdefault(event, len(self.states))
        self.states.append((event, gpr))

    def position(self, at: int) -> Position:
        event = self.states[at][0]
        steps = at - self.first[event]
        return Position(event).then(Steps(steps)) if steps else Position(event)

    def forward(self, thread: int, at: int) -> int | None:
        for to in range(at + 1, len(self.states)):
            if self.done[to] == thread:
                return None if self.idle[to] else to
        return None

    def back(self, thread: int, at: int) -> int | None:
        done = next((i for i in range(at, 0, -1) if self.done[i] == thread), None)
        if done is None:
            return None
        states = self.states
        return next(
            i for i in range(done - 1, -1, -1) if states[i][1].thread == thread and not self.idle[i]
        )


Rdb = Callable[..., object]


@pytest.fixture
def recording(rdb: Rdb, build: Callable[..., Path]) -> RankRecording:
    program = build("threads_steps.c", "-O0", "-pthread")
    rdb("run", "--name", "it", "--", program)
    return open_job("it").rank(0)


@pytest.fixture
def timeline(recording: RankRecording) -> Iterator[Timeline]:
    with Timeline(recording) as timeline:
        yield timeline


def test_threads_of_a_recording(recording: RankRecording, timeline: Timeline) -> None:
    assert [one.number for one in recording.threads] == [1, 2, 3]
    main, first, second = recording.threads
    assert main.first_event == 0 and main.last_event is None
    assert 0 < first.first_event < second.first_event
    assert first.last_event is not None and second.last_event is not None
    ran = MAIN
    for event in range(recording.last_event + 1):
        timeline.seek(Position(event))
        there = {one.number for one in timeline.threads()}
        assert there >= {
            one.number
            for one in recording.threads
            if one.first_event <= event and (one.last_event is None or event < one.last_event)
        }
        running = [one for one in timeline.threads() if one.state is ThreadState.RUNNING]
        runner = recording.schedule.runner(event)
        assert [one.number for one in running] == [runner if runner > 0 else ran]
        ran = running[0].number
        for one in timeline.threads():
            regs = timeline.registers(one.number)
            assert (regs.gpr.thread, regs.gpr.rip) == (one.number, one.pc)


def test_steps_of_one_thread_agree_with_stepping_everything(
    recording: RankRecording, timeline: Timeline
) -> None:
    oracle = Oracle(recording)
    numbers = random.Random(7)
    last = len(oracle.states) - 1
    switches = [oracle.first[event] for event in oracle.first if oracle.first[event]]
    for _ in range(60):
        # Near an event is where threads change.
        at = min(last, max(0, numbers.choice(switches) + numbers.randrange(-3, 4)))
        timeline.seek(oracle.position(at))
        thread = numbers.choice([one.number for one in timeline.threads()])
        for _ in range(6):
            forward = numbers.random() < 0.5
            to = oracle.forward(thread, at) if forward else oracle.back(thread, at)
            stopped = timeline.step(forward, thread=thread)
            if to is None:
                assert stopped.reason in (("gone", "end") if forward else ("start",))
                break
            assert stopped.reason == "step", (thread, forward, at, oracle.states[at])
            at = to
            assert (timeline.event, timeline.gpr) == oracle.states[at]
            assert timeline.thread == thread


def test_a_thread_is_stepped_to_its_start(recording: RankRecording, timeline: Timeline) -> None:
    first = recording.threads[1]
    timeline.seek(Position(first.first_event))
    assert [one.number for one in timeline.threads()] == [1, 2]
    assert timeline.step(thread=2).reason == "step"
    assert timeline.thread == 2
    assert timeline.step(forward=False, thread=2).reason == "step"
    assert timeline.step(forward=False, thread=2).reason == "start"


def test_registers_of_a_thread_that_does_not_run_cannot_be_set(
    recording: RankRecording, timeline: Timeline
) -> None:
    runs = recording.schedule.next_run(2, 0)
    assert runs is not None
    timeline.seek(Position(runs))
    regs = timeline.registers(1)
    regs.gpr = regs.gpr._replace(rbx=77)
    with pytest.raises(RdbError, match="cannot change registers of thread 1: it does not run here"):
        timeline.set_registers(regs, 1)
    assert not timeline.branch
    assert timeline.registers(1).gpr.rbx != 77
