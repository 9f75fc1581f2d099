"""Calls collected by several replicas are those that GDB sees one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

LAST = 1 << 30  # `--to` an event is how one gets them call by call


@pytest.fixture(scope="module")
def gdb(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("many-calls")
    made = Recorded(folder, build("many_calls.c", "-O0"), PROGRAMS / "many_calls.c")
    assert made.done.returncode == 0, made.done.stderr
    with made.gdb() as gdb:
        yield gdb


def calls(text: str) -> list[list[str]]:
    """Position, call, result, caller."""
    lines = text.splitlines()
    starts = [lines[0].index(name) for name in ("position", "call", "result", "from")]
    ends = [*starts[1:], None]
    rows = [line for line in lines if re.match(r"\d+ +\d+", line) and len(line) > starts[-1]]
    return [
        [row[start:end].strip() for start, end in zip(starts, ends, strict=True)] for row in rows
    ]


@pytest.mark.parametrize(
    ("function", "count"),
    [("named", 75), ("deep", 101), ("jumping", 8), ("whole", 1), ("unread", 2), ("leave", 1)],
)
def test_calls_are_the_same(gdb: Gdb, function: str, count: int) -> None:
    before = gdb.state()
    one_by_one = gdb.run(f"calls {function} --to {LAST}")
    tables = [gdb.run(f"calls {function} --jobs {jobs}") for jobs in (1, 3)]
    assert tables[0] == tables[1]
    found = calls(tables[0])
    assert len(found) == count
    # Places have shorter names.
    assert [row[1:] for row in found] == [row[1:] for row in calls(one_by_one)]
    assert tables[0].splitlines()[-1] == one_by_one.splitlines()[-1]
    assert all(re.fullmatch(r"\d+:0x[0-9a-f]+:\d+", row[0]) for row in found)
    assert gdb.state() == before
    gdb.run(f"goto {found[-1][0]}")
    assert gdb.function() == function
    gdb.run("undo")


def test_some_of_the_calls(gdb: Gdb) -> None:
    whole = calls(gdb.run("calls deep"))
    for jobs in (1, 3):
        few = gdb.run(f"calls deep --limit 70 --jobs {jobs}")
        assert calls(few) == whole[:70]
        assert f"--from {whole[69][0]}" in few
        assert calls(gdb.run(f"calls deep --from {whole[69][0]} --jobs {jobs}")) == whole[70:]


def test_what_never_returns(gdb: Gdb) -> None:
    assert [row[2] for row in calls(gdb.run("calls leave"))] == ["(did not return)"]
    results = {row[1]: row[2] for row in calls(gdb.run("calls jumping"))}
    assert results["jumping (n=40)"] == "(did not return)"
    assert results["jumping (n=120)"] == ""


def test_what_is_not_at_fixed_places_is_seen_call_by_call(gdb: Gdb) -> None:
    gdb.start("calls wide --jobs 3")
    gdb.run_until_log("wide: not all arguments and results are at fixed places, so the search goes")
    table = calls(gdb.finish())
    assert [row[1:3] for row in table] == [
        ["wide (n=0)", "0"],
        ["wide (n=100)", "50"],
        ["wide (n=200)", "100"],
    ]
