"""Where the log says that a thread was stopped in a computation: standing there, watched there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replicas import Recorded, record

from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind
from rdb.replay.agent import AgentClient, StopReason, WatchKind

LOOKED_AT = 2
PATCH = 5
"""Bytes."""
SOON = 700
"""Arrivals: a hit costs a signal."""
FALSE = b"\x22\x00\x27"  # const8 0, end
AROUND = range(-64, 96, 8)  # of the stack pointer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    where = tmp_path_factory.mktemp("compute")
    return record("threads_compute.c", where, "-pthread", "-O0", arguments=["--slice", "1"])


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


def switches(rec: Recorded) -> list[int]:
    """Events that stopped a thread, another went on after."""
    records = list(LogIndex(rec.path / "rank-0").records())
    found = [one.event for one in records if one.kind is Kind.PREEMPT]
    assert found
    return found[:LOOKED_AT]


def before(rec: Recorded, event: int) -> AgentClient:
    agent = rec.replica()
    assert agent.run(until_event=event - 1).event == event - 1
    return agent


def arrivals(agent: AgentClient, event: int, place: int) -> int:
    """How often the thread comes to the place, at last to be stopped there."""
    count = agent.fork()
    count.set_break(1, place, stop=False)
    assert count.run(until_event=event).event == event
    return count.counts(1)[0] - 1  # it stands there


def test_who_stands_there_goes_on_as_whoever_comes_there(rec: Recorded) -> None:
    for event in switches(rec):
        agent = before(rec, event)
        stopped = agent.fork().run(until_event=event)
        place = stopped.gpr.rip
        n = arrivals(agent, event, place)
        assert n > 0
        behind = agent.fork()
        assert behind.run(until_event=event + 1).event == event + 1
        wanted = behind.step(3).gpr
        stop = agent.run(event - 1, place, n)
        assert (stop.reason, stop.event) == (StopReason.TARGET, event - 1)
        assert stop.gpr == stopped.gpr
        for hits in (1, 2):
            stops = [
                one.run(event + 1, wanted.rip, hits) for one in (agent.fork(), before(rec, event))
            ]
            assert (stops[0].reason, stops[0].gpr) == (stops[1].reason, stops[1].gpr)
            assert hits > 1 or (stops[0].reason, stops[0].gpr) == (StopReason.TARGET, wanted)


@pytest.mark.parametrize("kind", list(WatchKind))
def test_looks_at_what_tells_the_place_are_not_the_programs(rec: Recorded, kind: WatchKind) -> None:
    """As many hits where a trampoline looks at memory as where a signal handler does."""
    for event in switches(rec):
        start = before(rec, event)
        plain = start.fork().run(until_event=event)
        n = arrivals(start, event, plain.gpr.rip)
        assert start.run(event - 1, plain.gpr.rip, max(n - SOON, 1)).event == event - 1
        for offset in AROUND:
            seen = []
            for condition in (b"", FALSE):
                agent = start.fork()
                if condition:
                    agent.set_break(1, plain.gpr.rip, cond=condition)
                agent.watch(2, plain.gpr.rsp + offset, 8, kind)
                stop = agent.run(until_event=event, scan=True)
                seen.append((stop.reason, stop.event, stop.gpr, stop.scan))
                agent.close()
            assert seen[0][0] is StopReason.TARGET
            assert seen[0] == seen[1], (event, offset, kind)


def test_the_answer_before_a_switch_at_the_same_call(tmp_path: Path) -> None:
    """The call of the clock returns to bytes that the patch for the switch has replaced."""
    rec = record("threads_clocks.c", tmp_path, "-pthread", "-O0", arguments=["--slice", "1"])
    records = LogIndex(rec.path / "rank-0").records()
    events = [one.event for one in records if one.kind is Kind.PREEMPT]
    agent, near = rec.replica(), 0
    for event in events:
        answered = agent.run(until_event=event - 1)
        assert (answered.reason, answered.event) == (StopReason.TARGET, event - 1)
        stopped = agent.run(until_event=event)
        near += 0 < answered.gpr.rip - stopped.gpr.rip < PATCH
    rec.close()
    assert near, f"none of {len(events)} switches is of this kind"
