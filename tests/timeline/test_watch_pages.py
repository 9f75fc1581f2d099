"""Watchpoints that the processor cannot hold: by their pages, and equal to looking at each step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replicas import Recorded, record

from rdb.replay.agent import AgentClient, AgentError, Gpr, Stop, StopReason, WatchKind

PAGE = 4096
FAR = 1 << 40  # steps


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("watched.c", tmp_path_factory.mktemp("watched"), "-pthread")


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


def at_main(rec: Recorded) -> AgentClient:
    agent = rec.replica()
    assert agent.run(until_pc=rec.symbols["main"], until_n=1).reason == StopReason.TARGET
    return agent


def shape(stop: Stop) -> tuple[object, ...]:
    return (stop.id, stop.addr, stop.event, stop.by_event, stop.gpr)


def stops(agent: AgentClient, stepped: bool, limit: int) -> list[tuple[object, ...]]:
    found = []
    while len(found) < limit:
        stop = agent.step(FAR) if stepped else agent.run()
        if stop.reason != StopReason.WATCH:
            assert stop.reason == StopReason.END, stop
            break
        found.append(shape(stop))
    return found


# name, offset, length: in one page, over pages, beside what is written, with a register's worth.
LOCATIONS = (
    ("record", 64, 320),
    ("record", 64 + 24, 8),
    ("table", 0, 3 * PAGE),
    ("table", PAGE - 50, 100),
    ("table", 2 * PAGE + 99, 50),
    ("barrier_page", 0, PAGE),
)


@pytest.mark.parametrize("kind", list(WatchKind))
@pytest.mark.parametrize("location", LOCATIONS)
def test_natively_as_step_by_step(
    rec: Recorded, location: tuple[str, int, int], kind: WatchKind
) -> None:
    name, offset, length = location
    lists = []
    for stepped in (False, True):
        agent = at_main(rec)
        assert not agent.watch(1, rec.symbols["record"] + 100, 64)  # takes no slot
        if length <= 32:  # the slots are taken
            for id_, other in enumerate(range(4), start=10):
                assert agent.watch(id_, rec.symbols["elsewhere"] - 1024 + 8 * other, 8)
        agent.unwatch(1)
        assert not agent.watch(1, rec.symbols[name] + offset, length, kind)
        lists.append(stops(agent, stepped, 2000))
    native, stepped_ = lists
    assert native == stepped_
    assert native
    if kind is WatchKind.WRITE and name == "table" and length > 100:
        assert any(by_event for _, _, _, by_event, _ in native)


@pytest.mark.parametrize("kind", [WatchKind.READ, WatchKind.ACCESS])
def test_instructions_that_only_the_agent_reads(rec: Recorded, kind: WatchKind) -> None:
    """Where the processor stops for something else, the agent looks at the instruction there."""
    agent = at_main(rec)
    agent.watch(1, rec.symbols["record"] + 64 + 24, 8)
    alone = stops(agent, False, 200)
    places = {gpr.pc for *_, gpr in alone if isinstance(gpr, Gpr)}
    assert places
    for place in places:
        agent = at_main(rec)
        agent.watch(2, place, 1, kind)  # the first one's hit is the one that is told
        agent.watch(1, rec.symbols["record"] + 64 + 24, 8)
        assert stops(agent, False, 200) == alone


@pytest.mark.parametrize("kind", list(WatchKind))
def test_a_stack_that_calls_the_lower_half(rec: Recorded, kind: WatchKind) -> None:
    """The page holds return addresses, arguments of hypercalls, frames of signal handlers."""
    lists = []
    for stepped in (False, True):
        agent = at_main(rec)
        sp = agent.get_regs().gpr.rsp
        assert not agent.watch(1, sp - 2000, 1900, kind)
        lists.append(stops(agent, stepped, 3000))
    assert lists[0] == lists[1]
    assert len(lists[0]) > 100


def test_more_than_the_processor_holds(rec: Recorded) -> None:
    """Twelve words, some in the same page: hits of each, in order."""
    lists = []
    for stepped in (False, True):
        agent = at_main(rec)
        hardware = [
            agent.watch(1 + n, rec.symbols["record"] + 64 + 8 * 3 * n, 8) for n in range(12)
        ]
        assert not all(hardware)
        lists.append(stops(agent, stepped, 1000))
    assert lists[0] == lists[1]
    assert {id_ for id_, *_ in lists[0]} >= set(range(2, 13))


def test_a_scan_counts_the_same(rec: Recorded) -> None:
    totals = []
    for width in (8, 64):
        agent = at_main(rec)
        hardware = agent.watch(1, rec.symbols["record"] + 64 + 8 * 20, width)
        assert not (hardware and width == 64)
        totals.append(agent.run(scan=True).scan.total)
    # The wide one sees the neighbours' changes too.
    assert totals[1] > totals[0] > 300
    agent = at_main(rec)
    agent.watch(1, rec.symbols["record"] + 64 + 8 * 20, 64)
    assert len(stops(agent, True, 10**6)) == totals[1]


def test_memory_that_is_mapped_later(rec: Recorded) -> None:
    """Watched before it is there, then mapped, protected and unmapped."""
    agent = at_main(rec)
    agent.run()  # to the end, for the address
    mapped = rec.value(agent, "mapped")
    lists = []
    for stepped in (False, True):
        agent = at_main(rec)
        assert not agent.watch(1, mapped + PAGE + 50, 2 * PAGE)
        lists.append(stops(agent, stepped, 1000))
    assert lists[0] == lists[1]
    assert any(by_event for _, _, _, by_event, _ in lists[0])


def test_the_state_is_untouched(rec: Recorded) -> None:
    """Protections are the program's own wherever it stops."""
    plain, watching = at_main(rec), at_main(rec)
    watching.watch(1, rec.symbols["table"], 3 * PAGE, WatchKind.ACCESS)
    for _ in range(20):
        stop = watching.run()
        assert stop.reason == StopReason.WATCH
    child = watching.fork()
    for agent in (watching, child):
        agent.unwatch()
        assert agent.run().reason == StopReason.END
    assert plain.run().reason == StopReason.END
    assert plain.hash() == watching.hash() == child.hash()
    assert plain.maps() == watching.maps() == child.maps()


def test_breakpoints_in_the_midst(rec: Recorded) -> None:
    """Breakpoints among accesses to a guarded page are met once each."""
    counts = []
    for watched in (False, True):
        agent = at_main(rec)
        if watched:
            agent.watch(1, rec.symbols["record"] + 4000, 64)
        agent.set_break(1, rec.symbols["work"], stop=False)
        agent.set_break(2, rec.symbols["deep"], stop=False)
        agent.set_break(3, rec.symbols["on_alarm"], stop=False)
        assert agent.run().reason == StopReason.END
        counts.append([agent.counts(id_)[0] for id_ in (1, 2, 3)])
    assert counts[0] == counts[1] == [2, 5, 1]


@pytest.mark.parametrize("kind", list(WatchKind))
def test_a_breakpoint_behind_what_touches_the_pages(rec: Recorded, kind: WatchKind) -> None:
    """A repeated instruction over more than one guarded page, stopped behind by the breakpoint."""
    lists = []
    for stepped in (False, True):
        agent = at_main(rec)
        assert not agent.watch(1, rec.symbols["table"], 3 * PAGE, kind)
        agent.set_break(2, rec.symbols["behind_movsb"])
        found = []
        while True:
            stop = agent.step(FAR) if stepped else agent.run()
            if stop.reason == StopReason.END:
                break
            assert stop.reason in (StopReason.WATCH, StopReason.BREAK)
            found.append((stop.reason, *shape(stop)))
        lists.append((found, agent.counts(2)[0]))
    assert lists[0] == lists[1]
    assert lists[0][1] == 1
    assert rec.symbols["behind_movsb"] in [stop[-1].rip for stop in lists[0][0]]


def test_longer_than_allowed(rec: Recorded) -> None:
    agent = at_main(rec)
    with pytest.raises(AgentError):
        agent.watch(1, rec.symbols["table"], 1 << 30)
    assert Path(rec.path).exists()
