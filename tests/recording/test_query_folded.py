"""Queries over events that one record stands for: each of them counts."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator

import pytest
from asking import alone, under_mpi
from conftest import Build, run_rdb
from faults import Rank

from rdb.checked import to_json
from rdb.recording import FORMAT, RankRecording
from rdb.recording.query.find import find_events
from rdb.recording.query.query import Query

TURNS = 300


@pytest.fixture(scope="module", params=["folded", "rounds"])
def recording(
    request: pytest.FixtureRequest, build: Build, tmp_path_factory: pytest.TempPathFactory
) -> RankRecording:
    """With a record that is repeated, or with calls that go round and round."""

    rank = Rank.make(tmp_path_factory.mktemp("rank"))
    folded = request.param == "folded"
    line = (
        alone(rank, build, "yield", str(TURNS))
        if folded
        else under_mpi(rank, build, "test", 7, str(TURNS))
    )
    assert subprocess.run(line, capture_output=True, check=False).returncode == 3
    made = rank.recording()
    if folded:
        assert max(one.repeat for one in made.records()) > TURNS - 9
    return made


def each(recording: RankRecording, query: Query) -> list[int]:
    """One event after the other."""
    start_ns = next(recording.records()).at_ns
    return [
        event
        for record in recording.records()
        if record.kind.is_event
        for event in range(record.event, record.event + record.repeat + 1)
        if query.matches(record, recording.rank, start_ns, number=event)
    ]


def found(recording: RankRecording, query: Query, *between: int, way: int = 1) -> list[int]:
    parts = find_events(recording, query, *between, backwards=way < 0)
    return [event for part in parts for event in part.events[::way]]


def conditions(chance: random.Random, last: int) -> Iterator[str]:
    def number() -> str:
        value = chance.randint(-2, last + 3)
        return chance.choice([str(value), str(value), f"{value}.5"])

    def simple() -> str:
        ops = ["<", "<=", ">", ">=", "==", "!="]
        one, other = chance.choice(ops), chance.choice(ops)
        return chance.choice(
            [
                f"event {one} {number()}",
                f"{number()} {one} event",
                f"{number()} {one} event {other} {number()}",
                f"event in ({number()}, {number()}, {number()})",
                f"event not in ({number()}, {number()})",
                f"event % {chance.randint(2, 9)} == {chance.randint(0, 3)}",
                f"event {one} repeat",
                "sched_yield",
                "mpi.test",
                "rank == 0",
            ]
        )

    for _ in range(150):
        text = simple()
        for _ in range(chance.randrange(3)):
            word, no = chance.choice(["and", "or"]), chance.choice(["", "", "not "])
            text = f"({text}) {word} {no}({simple()})"
        yield text


@pytest.mark.parametrize("seed", range(4))
def test_as_if_each_event_were_asked(recording: RankRecording, seed: int) -> None:
    chance = random.Random(seed)
    last = recording.last_event
    for text in conditions(chance, last):
        query = Query(text)
        expected = each(recording, query)
        assert found(recording, query) == expected, text
        assert found(recording, query, way=-1) == expected[::-1], text
        low, high = sorted(chance.randint(0, last) for _ in range(2))
        inside = [event for event in expected if low <= event <= high]
        assert found(recording, query, low, high) == inside, text
        assert found(recording, query, low, high, way=-1) == inside[::-1], text


def test_what_a_comparison_costs(recording: RankRecording, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many questions as it can change its mind, not one for each event."""
    asked = 0
    matches = Query.matches

    def counted(self: Query, *arguments: object) -> bool:
        nonlocal asked
        asked += 1
        return matches(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Query, "matches", counted)
    last = recording.last_event
    assert len(found(recording, Query(f"event > {last - 20} and rank == 0"))) == 20
    assert asked <= 20
    if max(one.repeat for one in recording.records()) > TURNS - 9:
        asked = 0
        middle = last - TURNS // 2
        assert len(found(recording, Query(f"event < {middle} or event >= {middle}"))) == last + 1
        assert asked < last + 1 - TURNS // 2


def test_in_the_shell_and_in_the_console(recording: RankRecording) -> None:
    job = recording.path.parent
    (job / "job.json").write_text(to_json({"format": FORMAT, "nranks": 1}))
    for path in (job, *job.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    last = recording.last_event
    query = f"event>{last - 40} and rank==0"
    done = run_rdb(job, job, "find-event", str(job), query, "--json")
    assert done.returncode == 0, done.stderr

    assert sum(row["events"] for row in json.loads(done.stdout)) == 40
    script = job.parent / "script"
    script.write_text(
        f"find-event {query} --count\ngoto end\nfind-event event<{last - 5} --prev\nwhen\n"
    )
    done = run_rdb(job, job, "attach", str(job), "-x", str(script))
    assert "40 events" in done.stdout, done.stdout + done.stderr
    assert f"Event {last - 6}: " in done.stdout
