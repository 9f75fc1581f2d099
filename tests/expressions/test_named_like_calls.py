"""find-event: names of the program that are like those of calls and fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Build, Rdb
from gdbdriver import Gdb

EVENTS = 4  # in a turn of the program's loop


@pytest.fixture
def gdb(rdb: Rdb, build: Build, rdb_home: Path) -> Iterator[Gdb]:
    done = rdb("run", "--name", "it", "--", build("named_like_calls.c", "-O0"))
    assert done.returncode == 0, done.stderr
    with Gdb("it", home=rdb_home) as opened:
        yield opened


def test_every_operator(gdb: Gdb) -> None:
    cases: list[tuple[str, Callable[[int], bool]]] = [
        ("reads != 0", lambda reads: reads != 0),
        ("reads == 3", lambda reads: reads == 3),
        ("reads - 3 == 4", lambda reads: reads == 7),
        ("reads -3 == 4", lambda reads: reads == 7),
        ("reads * 2 > 12", lambda reads: reads > 6),
        ("!(reads > 6)", lambda reads: reads <= 6),
        ("reads % 2 == 1", lambda reads: reads % 2 == 1),
        ("(reads) != 0", lambda reads: reads != 0),
        ("&reads != 0 && reads < 2", lambda reads: reads < 2),
    ]
    for expression, wanted in cases:
        expected = EVENTS * 2 * sum(map(wanted, range(10)))
        said = gdb.run(f"find-event getppid and {expression} --count")
        assert re.match(rf"{expected} events\b", said), (expression, expected, said)


def test_a_block_with_one_event_of_four(gdb: Gdb) -> None:
    """Its name is found although a multiple of four lies between the events that are looked at."""
    said = gdb.run("find-event inner == 3 --count")
    assert re.match(r"2 events; undefined at ", said), said


def test_a_field_that_is_also_a_variable(gdb: Gdb, rdb: Rdb) -> None:
    """`count` alone is a field of MPI calls; `getppid and result == 1` can only be of events."""
    hint = "count is a field of events; if you mean the program's variable write FUNCTION::count"
    gdb.run("goto start")
    assert hint in gdb.fails("find-event count == 3")
    assert rdb("find-event", "it", "count == 3").stderr.splitlines()[-1] == f"rdb: {hint}"
    assert "field" not in rdb("find-event", "it", "getppid and count == 1").stderr
    assert "field" not in rdb("find-event", "it", "rkey == 3").stderr
    assert rdb("find-event", "it", "main::count == 3 and event > 0", "--count").returncode == 0
