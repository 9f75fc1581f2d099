"""Switches of threads that were counted while recording are met exactly, in whichever way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from replicas import Recorded, record

from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind, Note
from rdb.replay.agent import AgentClient, StopReason

COUNTED = 3
LOOKED_AT = 3
SOON = 8
"""Arrivals: who steps comes there soon."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("spin_turns.c", tmp_path_factory.mktemp("spins"), "-pthread", "-fPIE", "-pie")


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


def counted(rank: Path) -> list[tuple[int, int]]:
    """Events and places."""
    return [
        (record.event, int.from_bytes(chunk.data[:8], "little"))
        for record in LogIndex(rank).records()
        if record.kind is Kind.PREEMPT
        for chunk in record.chunks
        if chunk.note == Note.COUNTED and int.from_bytes(chunk.data[8:16], "little") < SOON
    ]


def stepped(agent: AgentClient, event: int, real: bool = False) -> int:
    """How many instructions it is from the event before."""
    assert agent.run(until_event=event - 1).event == event - 1
    n = 1
    while agent.step(1, real=real).event < event:
        n += 1
    return n


def by_running(agent: AgentClient, event: int, place: int) -> None:
    agent.run(until_event=event)


def by_stepping(agent: AgentClient, event: int, place: int) -> None:
    stepped(agent, event)


def by_stepping_natively(agent: AgentClient, event: int, place: int) -> None:
    stepped(agent, event, real=True)


def by_a_breakpoint(agent: AgentClient, event: int, place: int) -> None:
    """Whose int3 is there: no trampoline can be."""
    agent.run(until_event=event - 1)
    agent.set_break(1, place, stop=False)
    agent.run(until_event=event)
    agent.clear_break(1)


def by_stops_at_the_place(agent: AgentClient, event: int, place: int) -> None:
    agent.run(until_event=event - 1)
    agent.set_break(1, place)
    while agent.run(until_event=event).reason is StopReason.BREAK:
        pass
    agent.clear_break(1)


def by_parts(agent: AgentClient, event: int, place: int) -> None:
    """A part of the way step by step, the rest natively."""
    agent.run(until_event=event - 1)
    at = agent.fork()
    n = stepped(at, event)
    for part in range(1, n, 3):
        way = agent.fork()
        way.step(part)
        assert way.run(until_event=event).event == event
        assert (way.get_regs().gpr, way.hash()) == (at.get_regs().gpr, at.hash())
    agent.run(until_event=event)


WAYS = [by_stepping, by_stepping_natively, by_a_breakpoint, by_stops_at_the_place, by_parts]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_comes_to_the_same(
    rec: Recorded, way: Callable[[AgentClient, int, int], None]
) -> None:
    places = counted(rec.path / "rank-0")
    assert len(places) >= COUNTED
    for event, place in places[:: len(places) // LOOKED_AT]:
        agent, plain = rec.replica(), rec.replica()
        way(agent, event, place)
        by_running(plain, event, place)
        assert agent.get_regs().gpr == plain.get_regs().gpr
        assert agent.hash() == plain.hash()
