"""Breakpoints beside the place at which the log says that a computation was stopped."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest
from replicas import Recorded, record

from rdb.replay.agent import AgentClient, StopReason

DEADLINE_S = 90
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
    assert agent.counts(1)[0] == rounds(rec)


def test_it_is_found_by_a_scan(rec: Recorded, agent: AgentClient) -> None:
    behind = rec.symbols["behind"]
    agent.set_break(1, behind)
    stop = agent.run(scan=True)
    assert (stop.reason, stop.scan.pc, stop.scan.total) == (StopReason.END, behind, rounds(rec))


def test_a_stop_that_is_never_met_is_an_error(rec: Recorded, agent: AgentClient) -> None:
    """The program was changed: no arrival is the one of the log."""
    agent.set_break(1, rec.symbols["behind"])
    assert agent.run().reason is StopReason.BREAK
    agent.clear_break(1)
    agent.write(rec.symbols["rounds"], (1 << 40).to_bytes(8, "little"))
    stop = agent.run()
    assert stop.reason is StopReason.DIVERGED
    assert "does not reach the recorded stop at" in stop.text
