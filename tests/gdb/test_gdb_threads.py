"""Threads of a recording in GDB: their list, breakpoints and reverse execution in each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gdbdriver import Gdb
from scenario import moved

Build = Callable[..., Path]
Rdb = Callable[..., object]
SOURCE = Path(__file__).parents[1] / "programs" / "threads_steps.c"


def line_of(mark: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, start=1) if f"@{mark} " in line)


@pytest.fixture
def gdb(rdb: Rdb, build: Build, rdb_home: Path) -> Iterator[Gdb]:
    rdb("run", "--name", "it", "--", build("threads_steps.c", "-O0", "-pthread"))
    with Gdb("it", home=rdb_home) as gdb:
        yield gdb


def thread(gdb: Gdb) -> int:
    return int(json.loads(gdb.run("rdb-state --fast").splitlines()[-1])["thread"])


def rows(gdb: Gdb) -> dict[int, str]:
    """`info threads`, by number; the selected one's row has a star."""
    found = re.findall(r"(?m)^(\*? +\d+ .*)$", gdb.run("info threads"))
    return {int(row.lstrip("* ").split()[0]): row for row in found}


def test_all_threads_are_listed_with_their_state(gdb: Gdb) -> None:
    before = rows(gdb)
    assert list(before) == [1, 2, 3]
    assert before[1].startswith("*")
    assert "not started yet" in before[2] and "not started yet" in before[3]
    gdb.run(f"break {SOURCE.name}:{line_of('spin')}")
    gdb.run("continue")
    here = rows(gdb)
    assert here[2].startswith("*") and "runs next" in here[2] and "work" in here[2]
    assert "waits in futex" in here[1]
    gdb.run("goto end")
    assert "ended" in rows(gdb)[2] and rows(gdb)[1].startswith("*")


def test_a_thread_is_stepped_back_alone(gdb: Gdb) -> None:
    gdb.run(f"break {SOURCE.name}:{line_of('spin')}")
    gdb.run("continue")
    assert thread(gdb) == 2
    gdb.run("thread 1")
    assert thread(gdb) == 1
    assert "futex" in gdb.run("backtrace 4")
    before = gdb.value("$pc")
    gdb.run("reverse-stepi")
    assert thread(gdb) == 1 and gdb.value("$pc") != before
    assert "__pthread_clockjoin_ex" in gdb.run("backtrace")
    gdb.run("undo")
    assert thread(gdb) == 1 and gdb.value("$pc") == before


def test_a_global_is_traced_back_to_the_threads_that_wrote_it(gdb: Gdb) -> None:
    gdb.run("goto end")
    gdb.run("watch shared")
    writers = []
    for _ in range(8):
        gdb.run("reverse-continue")
        writers.append((thread(gdb), gdb.value("me")))
    # The spinning one wrote last; before that they took turns; the very first changed nothing.
    assert writers == [(2, "0"), *[(3, "1"), (2, "0")] * 3, (3, "1")]


def test_a_breakpoint_in_a_worker_is_hit_backwards(gdb: Gdb) -> None:
    gdb.run("goto end")
    gdb.run("break work")
    seen = set()
    for _ in range(2):
        text = gdb.run("reverse-continue")
        assert f"Thread {thread(gdb)} " in text
        gdb.expect_at(f"{SOURCE.name}:13")
        seen.add((thread(gdb), gdb.value("arg")))
    assert {number for number, _ in seen} == {2, 3}


def test_statements_of_one_thread_forward_and_back(gdb: Gdb) -> None:
    gdb.run("break work thread 3")
    gdb.run("continue")
    assert thread(gdb) == 3
    gdb.run("delete")
    places = []
    for _ in range(9):
        gdb.run("next")
        assert thread(gdb) == 3
        places.append(gdb.value("$pc"))
    for place in reversed(places[:-1]):
        gdb.run("reverse-next")
        assert thread(gdb) == 3
        # A statement's first instruction, from either side.
        assert gdb.value("$pc").split()[-1].split("+")[0] == place.split()[-1].split("+")[0]


def test_when_and_history_say_which_thread(gdb: Gdb) -> None:
    gdb.run("break work thread 3")
    gdb.run("continue")
    assert "thread 3 runs" in gdb.run("when")
    assert "thread 3" in gdb.run("history")


def test_going_back_with_a_thread_that_has_not_started(gdb: Gdb) -> None:
    gdb.run("stepi")
    gdb.run("thread 3")
    assert not moved(gdb.run("reverse-stepi"))
    assert thread(gdb) == 1
    gdb.run("stepi")
    gdb.expect_at("_start")


WAITS = r"""
#include <pthread.h>
#include <unistd.h>

static int ends[2];
static int value = 1;

static void *writes(void *unused)
{
	int zero = 0;

	if (write(ends[1], &zero, sizeof(zero)) != sizeof(zero))
		_exit(2);
	for (int i = 0; i < 3; i++)
		getppid();
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pipe(ends) || pthread_create(&thread, NULL, writes, NULL))
		return 1;
	if (read(ends[0], &value, sizeof(value)) != sizeof(value))
		return 2;
	pthread_join(thread, NULL);
	return 0;
}
"""


def test_bisect_shows_the_thread_whose_call_wrote(
    rdb: Rdb, build_text: Build, rdb_home: Path
) -> None:
    """It has waited in that call while the other one ran."""
    rdb("run", "--name", "waits", "--", build_text("waits", WAITS, "-g", "-pthread"))
    with Gdb("waits", home=rdb_home) as gdb:
        found = json.loads(gdb.run("bisect value == 1 --json").splitlines()[-1])
        assert "read(" in found["written_by"]
        assert any(" in main " in line for line in found["stack"]), found["stack"]
        assert " in main " in gdb.run("bt")
