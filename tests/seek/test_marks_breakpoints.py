"""Breakpoints beside the place at which the log says that a computation was stopped."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from replicas import Recorded, record

from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind
from rdb.replay.agent import AgentClient, StopReason

DEADLINE_S = 90
SIGRETURN = 15
SOON, AFTER = 2, 3
"""Arrivals before and after the stop; the one of the stop is the first after it."""
HITS = SOON - 1 + AFTER
FALSE = b"\x22\x00\x27"  # const8 0, end


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("spin_behind.c", tmp_path_factory.mktemp("behind"))


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


@pytest.fixture
def agent(rec: Recorded) -> AgentClient:
    """Of a replica that does not run for ever."""
    agent = rec.replica()
    resource.prlimit(rec.started[-1][1].pid, resource.RLIMIT_CPU, (DEADLINE_S, DEADLINE_S))
    return agent


def rounds(rec: Recorded) -> int:
    """Of the whole run."""
    agent = rec.replica()
    assert agent.run().reason is StopReason.END
    return rec.value(agent, "rounds")


def test_it_stops_each_time(rec: Recorded, agent: AgentClient) -> None:
    behind = rec.symbols["behind"]
    agent.set_break(1, behind)
    for number in (1, 2, 3):
        stop = agent.run()
        assert (stop.reason, stop.gpr.rip, stop.hits) == (StopReason.BREAK, behind, 1)
        assert (rec.value(agent, "counter", 4), rec.value(agent, "rounds")) == (0, number)
    agent.clear_break(1)
    assert agent.run().reason is StopReason.END


@pytest.mark.parametrize("condition", [b"", FALSE])
def test_it_is_counted(rec: Recorded, agent: AgentClient, condition: bytes) -> None:
    """Also where the processor must carry out the instruction itself, below our jump."""
    agent.set_break(1, rec.symbols["behind"], stop=bool(condition), cond=condition)
    assert agent.run().reason is StopReason.END
    assert agent.counts(1)[0] == rounds(rec) + stops_at(rec, rec.symbols["behind"])


def test_it_is_found_by_a_scan(rec: Recorded, agent: AgentClient) -> None:
    behind = rec.symbols["behind"]
    agent.set_break(1, behind)
    stop = agent.run(scan=True)
    assert (stop.reason, stop.scan.pc, stop.scan.total) == (StopReason.END, behind, rounds(rec))


def stops_at(rec: Recorded, place: int) -> int:
    """How often the log stops the program there: it arrives there once more as it goes on."""
    records = LogIndex(rec.path / "rank-0").records()
    stops = [one.event for one in records if one.kind is Kind.PREEMPT]
    assert stops
    return sum(rec.replica().run(until_event=event).gpr.rip == place for event in stops)


def in_loop(rec: Recorded, event: int) -> bool:
    """A busy machine may have the program stopped elsewhere first."""
    place = rec.replica().run(until_event=event).gpr.rip
    return rec.symbols["spin"] <= place < rec.symbols["behind"]


def events(rec: Recorded) -> tuple[int, int]:
    """Of the first stop in the loop, and of the one after which that computation goes on."""
    records = LogIndex(rec.path / "rank-0").records()
    stopped = next(one for one in records if one.kind is Kind.PREEMPT and in_loop(rec, one.event))
    back = next(
        one
        for one in records
        if one.thread == stopped.thread
        and (one.kind is Kind.RESUME or (one.kind is Kind.SYSCALL and one.nr == SIGRETURN))
    )
    return stopped.event, back.event


def alike(one: AgentClient, other: AgentClient) -> bool:
    return one.get_regs().gpr == other.get_regs().gpr and one.hash() == other.hash()


@pytest.mark.parametrize("by", ["SIGNAL", "THREAD"])
def test_whoever_is_stopped_there_stops_there_once(by: str, tmp_path: Path) -> None:
    """Where the log stops a thread, a breakpoint stops it as it goes on, and not before."""
    rec = record("spin_behind.c", tmp_path, "-pthread", f"-D{by}", arguments=["--slice", "1"])
    stopped, back = events(rec)
    there, before = rec.replica(), rec.replica()
    place = there.run(until_event=stopped).gpr.rip
    assert before.run(until_event=stopped - 1).event == stopped - 1
    rounds = rec.value(there, "rounds") - 1
    if rounds > 0:  # each arrival since then costs a signal
        before.run(stopped - 1, rec.symbols["behind"], rounds)
    far = before.fork()
    far.set_break(1, place, stop=False)
    far.run(until_event=stopped)
    total, since = far.counts(1)
    assert before.run(stopped - 1, place, total - since - SOON).reason is StopReason.TARGET
    end, counts, found, stops, steps = (before.fork() for _ in range(5))
    assert end.run(back, place, AFTER).reason is StopReason.TARGET
    found.set_break(1, place)
    # the last is the end, which a scan does not find
    assert found.run(back, place, AFTER, scan=True).scan.total == HITS - 1
    stops.set_break(1, place)
    assert [stops.run().reason for _ in range(HITS)] == [StopReason.BREAK] * HITS
    assert alike(stops, end)
    counts.set_break(1, place, stop=False)
    counts.run(back, place, AFTER)
    assert counts.counts(1) == (HITS + 1, AFTER)
    steps.set_break(1, place, stop=False)
    while steps.step(1).reason is StopReason.TARGET and not alike(steps, end):
        assert steps.counts(1)[0] < HITS + 2
    assert steps.counts(1)[1] == AFTER
    rec.close()


def test_a_stop_that_is_never_met_is_an_error(rec: Recorded, agent: AgentClient) -> None:
    """The program was changed: no arrival is the one of the log."""
    agent.set_break(1, rec.symbols["behind"])
    assert agent.run().reason is StopReason.BREAK
    agent.clear_break(1)
    agent.write(rec.symbols["rounds"], (1 << 40).to_bytes(8, "little"))
    stop = agent.run()
    assert stop.reason is StopReason.DIVERGED
    assert "does not reach the recorded stop at" in stop.text
