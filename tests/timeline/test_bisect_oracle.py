"""`bisect` against oracles: what brute force says of each event and each instruction.

The search runs over fake replicas (tests/kit/fake_replica.py), where every program is gone through
state by state.  With GDB and MPI it runs on some jobs of 2 to 5 ranks whose values turn at rounds
that are drawn.
"""

from __future__ import annotations

import json
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, run_rdb
from fake_replica import FakeReplica, State, all_states
from test_bisect_algorithm import (
    BAD,
    GOOD,
    UNDEFINED,
    cell,
    index_of,
    program_of,
    search,
)

from rdb.timeline.bisect import Refused, Result
from rdb.timeline.timeline import Timeline

PROGRAMS = int(os.environ.get("RDB_TEST_ORACLES", "200"))
JOBS = max(PROGRAMS // 200, 2)
_AT_ONCE = 50
_EVENTS = 30  # so few that the search looks at each: the oracle knows what it must answer
_ROUNDS, _KINDS = 40, 4


def phases_of(seed: int) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    kinds = chance.choice([[GOOD, BAD], [GOOD, BAD, UNDEFINED], [GOOD, GOOD, UNDEFINED]])
    found: list[tuple[int, int]] = []
    while len(found) < chance.randint(1, _EVENTS):
        found += [(chance.choice(kinds), chance.randint(1, 6))] * chance.randint(1, 6)
    found = found[:_EVENTS]
    return [(GOOD, 2), *found, (BAD, 2)] if chance.random() < 0.6 else found


@pytest.mark.parametrize("first", range(0, PROGRAMS, _AT_ONCE))
def test_the_search_finds_what_brute_force_finds(first: int) -> None:
    for seed in range(first, min(first + _AT_ONCE, PROGRAMS)):
        check(seed, last=seed % 2 == 1)


def check(seed: int, last: bool) -> None:
    program = program_of(phases_of(seed))
    states = all_states(program)
    at_events: dict[int, int] = {}
    for state in states:
        at_events.setdefault(state.event, cell(state))
    defined = [(event, one) for event, one in at_events.items() if one in (GOOD, BAD)]
    edges = [
        (low, high)
        for (low, one), (high, other) in pairwise(defined)
        if (one, other) == (GOOD, BAD)
    ]
    with Timeline(None, FakeReplica.start(program)) as timeline:
        answer: Result | str
        try:
            answer = search(timeline, last)[0]
        except Refused as refused:
            answer = str(refused)
        if not defined:
            assert isinstance(answer, str) and answer.startswith("undefined at all"), seed
        elif defined[-1][1] == GOOD and cell(states[-1]) == BAD:
            edges.append((defined[-1][0], max(at_events) + 1))
            check_result(seed, timeline, states, answer, edges[-1 if last else 0])
        elif edges:
            check_result(seed, timeline, states, answer, edges[-1 if last else 0])
        elif defined[0][1] == BAD:
            first_event = defined[0][0]
            assert isinstance(answer, str) and f"(event {first_event})" in answer, seed
            assert answer.startswith("false "), seed
        elif defined[-1][0] < max(at_events):
            assert isinstance(answer, str), seed
            assert answer.startswith("true as long as it had a value; true at"), seed
            assert f"up to {defined[-1][0]}" in answer, seed
            undefined = len(at_events) - len(defined)
            assert f"undefined at the other {undefined} that" in answer, seed
        else:
            assert isinstance(answer, str) and answer.startswith("still true at the end"), seed


def check_result(
    seed: int,
    timeline: Timeline,
    states: list[State],
    answer: Result | str,
    edge: tuple[int, int],
) -> None:
    assert isinstance(answer, Result), (seed, answer)
    before = index_of(timeline, answer.before, states)
    after = index_of(timeline, answer.after, states)
    assert cell(states[before]) == GOOD and cell(states[after]) == BAD, seed
    assert edge[0] <= states[before].event and states[after].event <= edge[1], seed
    between = {cell(state) for state in states[before + 1 : after]}
    assert not between & {GOOD, BAD} and bool(between) == answer.gap, seed


def turns_of(seed: int, rank: int) -> list[int]:
    """As tests/programs/mpi/turning.c draws them."""
    state = (seed * 64 + rank) & 0xFFFFFFFF
    found = []
    for _ in range(_KINDS):
        state = (state * 1103515245 + 12345) & 0xFFFFFFFF
        found.append((state >> 16) % (_ROUNDS + _ROUNDS // 4) + 2)
    return found


@pytest.mark.parametrize("seed", range(JOBS))
def test_bisect_finds_the_round_in_which_it_turned(tmp_path: Path, build: Build, seed: int) -> None:
    size = 2 + seed % 4
    program = build("mpi/turning.c", "-O0", compiler="mpicc")
    command = ("run", "--name", "turning", "-n", str(size), "--", str(program), str(seed))
    done = run_rdb(tmp_path, tmp_path, *command)
    assert done.returncode == 0, done.stderr
    kind, expression = [
        (0, "level > 0"),
        (1, "local > 0"),
        (2, "grid.values[5] > 0"),
        (3, "got > 0"),
    ][seed % _KINDS]
    wanted = {
        rank: turns_of(seed, (rank - 1) % size if kind == 3 else rank)[kind] for rank in range(size)
    }
    report = asked(tmp_path, "bisect", "turning", expression)
    assert not any(one["unknown"] for one in report["not_found"]), report
    found = {one["rank"]: one for one in report["found"]}
    assert set(found) == {rank for rank, turn in wanted.items() if turn <= _ROUNDS}, report
    for rank, one in found.items():
        rows = asked(tmp_path, "find-event", "turning", "mpi.sendrecv", "--rank", str(rank))
        rounds = [row["event"] for row in rows]
        assert len(rounds) == _ROUNDS
        assert one["verified_before"] and one["verified_after"]
        if kind == 3:
            assert one["by_event"] == rounds[wanted[rank] - 1]
        else:
            assert rounds[wanted[rank] - 2] <= one["event"] < rounds[wanted[rank] - 1]


def asked(folder: Path, *arguments: str) -> Any:
    done = run_rdb(folder, folder, *arguments, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
