"""Queries that loops over columns answer: the same as of each event by itself."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator

import pytest
from conftest import Build
from mpijob import record
from pytest import TempPathFactory

from rdb.errors import Usage
from rdb.recording import Kind, RankRecording
from rdb.recording.log import rows
from rdb.recording.log.rows import Column
from rdb.recording.query.find import count_events, find_events
from rdb.recording.query.query import Query

TURNS = 40
FIELDS = (
    *("event", "repeat", "thread", "result", "time", "rank", "fd", "bytes", "source", "dest"),
    *("tag", "count", "comm", "request", "arg0", "arg1", "arg5", "arg6", "wr_id", "qp_num"),
)
WORDS = ("read", "write", "mpi", "verbs", "mpi.recv", "mpi.test", "receive", "send", "start")
TEXTS = (
    *("name == mpi.send", "name in (read, write, mpi.recv)", "'mpi' in name", "kind == syscall"),
    *("errno == ENOENT", "errno != EBADF", "signal == SIGUSR1", "kind != mpi"),
)


@pytest.fixture(scope="module")
def ranks(build: Build, tmp_path_factory: TempPathFactory) -> list[RankRecording]:
    job = record(tmp_path_factory.mktemp("job"), 2, build("mpi/loops.c", "-O1"), str(TURNS))
    assert job.result.returncode == 0, job.result.stderr
    return [job.rank(rank) for rank in range(2)]


def conditions(chance: random.Random, rank: RankRecording) -> Iterator[str]:
    records = [one for one in rank.records() if one.kind.is_event]

    def number() -> str:
        one = chance.choice(records)
        known = [0, 1, -1, 3, 8, one.event, one.result, *(one.args or (2,))]
        return str(chance.choice(known))

    def value() -> str:
        field = chance.choice(FIELDS)
        how = chance.choice("ffffff+-*%/&n")
        if how in "+-*&":
            return f"({field} {how} {chance.choice([number(), chance.choice(FIELDS)])})"
        if how in "%/":
            return f"({field} {how * (1 + (how == '/'))} {chance.choice([2, 7, 'repeat'])})"
        return f"(-{field})" if how == "n" else field

    def simple() -> str:
        how = chance.randrange(8)
        if how == 0:
            return chance.choice(WORDS)
        if how == 1:
            return chance.choice(TEXTS)
        if how == 2:
            return f"{value()} in ({number()}, {number()}, {value()})"
        if how == 3:
            return value()
        if how == 4:
            return f"{number()} <= {value()} < {number()}"
        op = chance.choice(["==", "!=", "<", ">="])
        return f"{value()} {op} {value() if how == 5 else number()}"

    while True:
        text = simple()
        for _ in range(chance.randrange(3)):
            word, no = chance.choice(["and", "or"]), chance.choice(["", "", "not "])
            text = f"({text}) {word} {no}({simple()})"
        yield text


def each(rank: RankRecording, query: Query) -> list[int] | None:
    """One event after the other; None: the query has no value at one of them."""
    start_ns = next(rank.records()).at_ns
    try:
        return [
            event
            for one in rank.records()
            if one.kind.is_event
            for event in range(one.event, one.event + one.repeat + 1)
            if query.matches(one, rank.rank, start_ns, number=event)
        ]
    except Usage:
        return None


@pytest.mark.parametrize("seed", range(8))
def test_as_if_each_event_were_asked(ranks: list[RankRecording], seed: int) -> None:
    chance = random.Random(seed)
    rank = ranks[seed % 2]
    given = conditions(chance, rank)
    asked = answered = 0
    while asked < 150:
        text = next(given)
        try:
            query = Query(text)
        except Usage:
            continue
        asked += 1
        expected = each(rank, query)
        if expected is None:
            if query.calls is None and query.first == 0 and query.last > rank.last_event:
                with pytest.raises(Usage, match="has no value at event"):
                    print(text, list(find_events(rank, query)))
            continue
        answered += bool(expected)
        parts = list(find_events(rank, query))
        assert [event for part in parts for event in part.events] == expected, text
        back = list(find_events(rank, query, backwards=True))
        assert [event for part in back for event in part.events[::-1]] == expected[::-1], text
        assert count_events(rank, query) == len(expected), text
        assert all(part.events.start >= part.record.event for part in parts)
    assert answered > 30


def test_few_records_are_looked_at(
    ranks: list[RankRecording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of cycles alone."""
    asked = 0
    matches = Query.matches

    def counted(self: Query, *arguments: object) -> bool:
        nonlocal asked
        asked += 1
        return matches(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Query, "matches", counted)
    assert count_events(ranks[0], Query("mpi.recv source == 1 and bytes == 4")) == TURNS
    assert count_events(ranks[0], Query("mpi.test")) == 2 * TURNS
    assert asked < 20


def test_a_number_that_a_call_returns(ranks: list[RankRecording]) -> None:
    """By a pointer: the query means the number, not the address."""
    assert count_events(ranks[0], Query("mpi.test and flag == 0")) == 2 * TURNS
    assert count_events(ranks[0], Query("mpi.iprobe and flag != 0")) == 0


def test_rows_come_in_batches(ranks: list[RankRecording], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a record has more messages than a batch has room."""
    index = ranks[0].index
    calls = index.events_among(range(index.count), None)
    of_mpi = (numbers for (kind, nr), numbers in calls if kind is Kind.HYPERCALL and nr >> 16 == 1)
    numbers = array("Q", sorted(number for those in of_mpi for number in those))
    columns = [(int(one), "q") for one in (Column.NUMBER, Column.NOTE, Column.PEER, Column.BYTES)]

    def read() -> list[tuple[int, ...]]:
        batches = index.rows(numbers, columns)
        assert batches is not None
        return [row for batch in batches for row in zip(*batch, strict=True)]

    whole = read()
    twice = [number for number, *_ in whole]
    assert len(twice) > len(set(twice)) == len(numbers), "MPI_Waitall received two messages"
    for room in (1, 2, 3, 7):
        monkeypatch.setattr(rows, "_ROOM", room)
        assert read() == whole
    assert index.rows(numbers, [(60, "Q")]) is None, "no call has so many arguments"


def test_what_is_nested_deep() -> None:
    with pytest.raises(Usage, match="nested too deep"):
        Query("not " * 900 + "read")
