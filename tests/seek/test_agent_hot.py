"""Arrivals counted by a trampoline: as exact as those that an int3 counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from replicas import DEADLINE_S, Recorded, record

from rdb.replay.agent import AgentClient, StopReason

TURNS = 3_000_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("agent_hot.c", tmp_path_factory.mktemp("hot"))


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


def at_loop(rec: Recorded) -> AgentClient:
    """Before the first turn of the long loop."""
    agent = rec.replica()
    agent.set_break(99, rec.symbols["turn"])
    assert agent.run().reason is StopReason.BREAK
    agent.clear_break(99)
    return agent


def counter(agent: AgentClient) -> int:
    """`i` of the loop, in whichever register: the only one that is `turns` in the end."""
    return agent.get_regs().gpr.rax


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 70_001, 2_000_000, TURNS])
def test_the_nth_arrival_is_exact(rec: Recorded, n: int) -> None:
    agent = at_loop(rec)
    hot = rec.symbols["hot"]
    agent.set_break(1, hot, stop=False)
    stop = agent.run(until_pc=hot, until_n=n)
    assert (stop.reason, stop.hits, stop.gpr.rip) == (StopReason.TARGET, n, hot)
    assert counter(agent) == n - 1
    assert agent.counts(1) == (n, n)
    assert agent.read(hot, 1) != b"\xe9"
    # and on from there, in the same interval
    if n < TURNS:
        stop = agent.run(until_pc=hot, until_n=1)
        assert (stop.reason, counter(agent)) == (StopReason.TARGET, n)
        assert agent.counts(1) == (n + 1, n + 1)


def test_memory_is_as_without(rec: Recorded) -> None:
    hot = rec.symbols["hot"]
    counted, plain = at_loop(rec), at_loop(rec)
    assert counted.run(until_pc=hot, until_n=5000).reason is StopReason.TARGET
    plain.set_break(1, hot)  # stops each time: never counted by a trampoline
    for _ in range(5000):
        stop = plain.run()
    assert stop.reason is StopReason.BREAK
    assert counted.get_regs().gpr == plain.get_regs().gpr
    assert counted.hash() == plain.hash()


@pytest.mark.parametrize("near", ["turn", "inside", "behind"])
def test_a_breakpoint_near_is_counted_too(rec: Recorded, near: str) -> None:
    agent = at_loop(rec)
    hot = rec.symbols["hot"]
    agent.set_break(1, rec.symbols[near], stop=False)
    agent.set_break(2, hot, stop=False)
    n = 20_500
    stop = agent.run(until_pc=hot, until_n=n)
    assert (stop.reason, counter(agent)) == (StopReason.TARGET, n - 1)
    assert agent.counts(2) == (n, n)
    passed = (n - 1) // 999  # jumps over `hot`, every 1000th turn
    expected = {"turn": n + passed - 1, "inside": n - 1 + passed, "behind": n - 1 + passed}
    assert agent.counts(1)[0] == expected[near]


def test_a_breakpoint_near_stops_between(rec: Recorded) -> None:
    agent = at_loop(rec)
    hot, inside = rec.symbols["hot"], rec.symbols["inside"]
    # at inside: $rax == 70000
    agent.set_break(1, inside, cond=b"\x26\x00\x00\x24\x00\x01\x11\x70\x13\x27")
    agent.set_break(2, hot, stop=False)
    stop = agent.run(until_pc=hot, until_n=2_000_000)
    assert (stop.reason, stop.id, stop.gpr.rip) == (StopReason.BREAK, 1, inside)
    assert counter(agent) == 70_000
    assert agent.counts(2) == (70_000, 70_000)


def test_scan_keeps_the_order_of_hits(rec: Recorded) -> None:
    agent = at_loop(rec)
    hot, behind = rec.symbols["hot"], rec.symbols["behind"]
    agent.set_break(1, hot)
    # at behind: $rax == 70000
    agent.set_break(2, behind, cond=b"\x26\x00\x00\x24\x00\x01\x11\x70\x13\x27")
    stop = agent.run(until_pc=hot, until_n=70_001, scan=True)
    assert stop.reason is StopReason.TARGET
    assert (stop.scan.id, stop.scan.total) == (2, 70_001)
    stop = agent.run(until_pc=hot, until_n=1000, scan=True)
    assert (stop.scan.id, stop.scan.hits, stop.scan.total) == (1, 999, 999)
    assert stop.scan.pc == hot


def test_over_events(rec: Recorded) -> None:
    """Each interval counts for itself, and the target is of the last one."""
    agent = at_loop(rec)
    hot = rec.symbols["hot"]
    agent.set_break(1, hot)
    stop = agent.run(until_event=10**9, scan=True)
    assert stop.reason is StopReason.END
    assert agent.counts(1)[0] == TURNS + 200 * 200
    assert (stop.scan.hits, stop.scan.total) == (200, TURNS + 200 * 200)
    agent = at_loop(rec)
    event = agent.run(until_pc=hot, until_n=1).event + 5
    stop = agent.run(until_event=event, until_pc=hot, until_n=150)
    assert (stop.reason, stop.event, stop.hits) == (StopReason.TARGET, event, 150)
    assert counter(agent) == 149


@pytest.mark.parametrize("pc", ["spin_top", "target"])
def test_a_breakpoint_beside_a_mark(tmp_path: Path, pc: str) -> None:
    """In the loop in which the log says that a thread was stopped: neither hides the other."""
    rec = record("spin_turns.c", tmp_path, "-pthread")
    agent = rec.replica()
    deadline = Timer(DEADLINE_S, rec.started[-1][1].kill)
    deadline.start()
    last = agent.hello().last_event
    if pc == "target":
        stop = agent.run(until_event=last + 1, until_pc=rec.symbols["spin_top"], until_n=1)
    else:
        agent.set_break(1, rec.symbols["spin_top"], stop=False)
        stop = agent.run()
    assert stop.reason is StopReason.END
    deadline.cancel()
    rec.close()
