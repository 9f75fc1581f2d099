"""find-event: names of the program that are like those of calls and fields."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Gdb, Recorded

EVENTS = 4  # in a turn of the program's loop


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = PROGRAMS / "named_like_calls.c"
    made = Recorded(tmp_path_factory.mktemp("it"), build(source.name, "-O0"), source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
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


def test_a_field_that_is_also_a_variable(gdb: Gdb, recorded: Recorded) -> None:
    """`count` alone is a field of MPI calls; `getppid and result == 1` can only be of events."""
    hint = "count is a field of events; if you mean the program's variable write FUNCTION::count"

    def find(*words: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(recorded.home, recorded.folder, "find-event", "job", *words)

    gdb.run("goto start")
    assert hint in gdb.fails("find-event count == 3")
    assert find("count == 3").stderr.splitlines()[-1] == f"rdb: {hint}"
    assert "field" not in find("getppid and count == 1").stderr
    assert "field" not in find("rkey == 3").stderr
    assert find("main::count == 3 and event > 0", "--count").returncode == 0
