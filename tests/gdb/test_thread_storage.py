"""`errno` and `__thread` variables, of any thread, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gdbdriver import Gdb, GdbError, Recorded
from scenario import go

Build = Callable[..., Path]
SOURCE = Path(__file__).parents[1] / "programs" / "thread_storage.c"


@pytest.fixture(scope="module")
def made(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    library = build(SOURCE.name, "-O0", "-shared", "-fPIC", "-DLIBRARY")
    program = build(SOURCE.name, "-O0", "-pthread", "-ldl")
    recorded = Recorded(tmp_path_factory.mktemp("storage"), program, SOURCE, str(library))
    assert recorded.done.returncode == 0, recorded.done.stderr
    return recorded


@pytest.fixture
def gdb(made: Recorded) -> Iterator[Gdb]:
    with made.gdb() as session:
        yield session


def of_thread(gdb: Gdb, number: int, expression: str) -> str:
    gdb.run(f"thread {number}")
    return gdb.value(expression)


def test_of_the_thread_that_runs(gdb: Gdb, made: Recorded) -> None:
    gdb.run("tbreak main")
    gdb.run("continue")
    assert gdb.value("mine") == "10"
    go(gdb, made, "closed")
    assert (gdb.value("mine"), gdb.value("errno")) == ("11", "9")
    go(gdb, made, "wrong")
    assert (gdb.value("mine"), gdb.value("errno")) == ("11", "0")
    gdb.run("reverse-next")
    assert gdb.value("mine") == "10"


def test_of_every_thread(gdb: Gdb, made: Recorded) -> None:
    gdb.run("goto end")
    gdb.run(f"break {made.at('look')}")
    for _ in range(10):
        gdb.run("reverse-continue")
        if of_thread(gdb, 1, "mine") == "11" and of_thread(gdb, 2, "mine") == "22":
            break
    assert of_thread(gdb, 2, "name[0]") == "119 'w'"
    assert (of_thread(gdb, 1, "errno"), of_thread(gdb, 2, "errno")) == ("9", "33")
    assert of_thread(gdb, 1, "&mine") != of_thread(gdb, 2, "&mine")


def test_of_a_library_opened_later(gdb: Gdb, made: Recorded) -> None:
    """Its block is made in each thread at the first use."""
    go(gdb, made, "closed")
    with pytest.raises(GdbError):
        gdb.value("lent")
    gdb.run("goto end")
    seen = []
    gdb.run("break lend")  # GDB knows the library, which it has not seen opened
    for _ in range(2):
        gdb.run("reverse-continue")
        gdb.expect_at("lend")
        gdb.run("next 2")
        seen.append((gdb.value("lent"), gdb.integer("room[7]")))
        gdb.run("reverse-continue")
    assert sorted(seen) == [("105", 100), ("6", 1)]
    gdb.run("goto start")
    assert "thread_storage" not in gdb.run("info sharedlibrary")


def test_watched_backwards(gdb: Gdb, made: Recorded) -> None:
    gdb.run("goto end")
    assert gdb.value("mine") == "12"
    gdb.run("watch mine")
    gdb.run("reverse-continue")
    assert gdb.value("mine") == "11"


def test_changed_in_a_branch(gdb: Gdb, made: Recorded) -> None:
    go(gdb, made, "closed")
    gdb.run("set var mine = 77")
    assert gdb.value("mine") == "77"
    gdb.run("undo")
    assert gdb.value("mine") == "11"


def test_of_a_static_program(build: Build, tmp_path: Path) -> None:
    made = Recorded(tmp_path, build(SOURCE.name, "-O0", "-pthread", "-static"), SOURCE)
    assert made.done.returncode == 0, made.done.stderr
    with made.gdb() as gdb:
        go(gdb, made, "closed")
        assert gdb.value("mine") == "11"
