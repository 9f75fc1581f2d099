"""Watchpoints on predicates over arrays stop where a search says, both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded, in_console
from scenario import moved

SOURCE = PROGRAMS / "watched_elements.c"
LARGE = 'watch $max("p[0]@n") > 2000'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    made = Recorded(tmp_path_factory.mktemp("watched"), build("watched_elements.c", "-O0"), SOURCE)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield opened


def line(text: str) -> int:
    return next(n for n, one in enumerate(SOURCE.read_text().splitlines(), 1) if text in one)


def at(gdb: Gdb) -> int:
    return int(gdb.frames()[0]["line"])


def go(gdb: Gdb, command: str) -> str:
    """What is said of a stop comes after the stop."""
    return gdb.run(command) + gdb.run("frame")


def said(number: int, text: str, old: int, new: int) -> str:
    return f"\nWatchpoint {number}: {text}\n\nOld value = {old}\nNew value = {new}\n"


def test_forward_and_back(gdb: Gdb) -> None:
    gdb.run("break step if i == 100")
    go(gdb, "continue")
    gdb.run(LARGE)
    came = go(gdb, "continue")
    assert said(2, "max(p[0]@n) > 2000", 0, 1) + "rdb: p[7] = 5000\n" in came
    assert (gdb.value("i"), at(gdb)) == ("200", line("i == 201"))
    up = gdb.state()["position"]
    came = go(gdb, "continue")
    assert said(2, "max(p[0]@n) > 2000", 1, 0) in came
    assert (gdb.value("i"), gdb.value("k"), at(gdb)) == ("201", "7", line("for (int k"))
    came = go(gdb, "reverse-continue")  # before the store that made it large no more
    assert said(2, "max(p[0]@n) > 2000", 0, 1) in came and gdb.value("k") == "7"
    came = go(gdb, "reverse-continue")
    assert said(2, "max(p[0]@n) > 2000", 1, 0) in came
    assert (gdb.value("i"), at(gdb)) == ("200", line("// up"))
    go(gdb, "stepi")
    assert gdb.state()["position"] == up
    # A breakpoint on the way stops first, and the watchpoint is there afterwards.
    go(gdb, "reverse-continue")
    assert "step (i=100" in go(gdb, "reverse-continue")
    gdb.run("tbreak step if i == 150")
    assert "step (i=150" in go(gdb, "continue")
    assert said(2, "max(p[0]@n) > 2000", 0, 1) in go(gdb, "continue")
    assert "y" in gdb.run("info breakpoints").partition("watchpoint")[2].split()[1]
    gdb.run("delete 2")
    assert not moved(go(gdb, "continue"))


def test_where_there_is_no_event(gdb: Gdb) -> None:
    """Between events a change is found, and behind the last one; another frame comes back."""
    gdb.run("break step if i == 299")
    go(gdb, "continue")
    gdb.run('watch $min("u") < -1')
    assert said(2, "min(u) < -1", 0, 1) + "rdb: u[4] = -2\n" in go(gdb, "continue")
    assert at(gdb) == line("return turns")
    assert said(2, "min(u) < -1", 1, 0) in go(gdb, "reverse-continue")
    assert at(gdb) == line("after the last event")
    gdb.run("goto START")
    gdb.run("delete 1")
    assert said(2, "min(u) < -1", 0, 1) in go(gdb, "continue")
    gdb.run("undo")
    assert gdb.state()["at_start"]


def test_what_gdb_does_itself_at_a_change(gdb: Gdb) -> None:
    """With a condition each instruction is looked at, with the same answer."""
    gdb.run("break step if i == 200")
    go(gdb, "continue")
    gdb.run("tbreak " + str(line("i == 200")))
    go(gdb, "continue")
    gdb.run(f"{LARGE} if turns == 200")
    came = go(gdb, "continue")
    assert "Old value = 0\nNew value = 1\n" in came and at(gdb) == line("i == 201")


def test_conditions_stop_where_gdb_would(recorded: Recorded) -> None:
    """Changes that leave a condition as it was are passed over; with a breakpoint, a pointer that
    comes to lead elsewhere, two variables, none."""
    conditions = (
        "turns > 200",
        "at->x > 2",
        "at->x > 2 && turns > 199",
        "turns % 3 == 1",
    )
    stops: dict[str, list[list[str]]] = {}
    for way in ("passed", "looked at"):
        stops[way] = []
        with recorded.gdb() as gdb:
            if way != "passed":
                gdb.run(
                    "python from rdb_gdb.search import passing; passing.place = lambda *asked: None"
                )
            gdb.run("break step if i == 197 || i == 206")
            for number, condition in enumerate(conditions, 2):
                gdb.run("goto 200")
                gdb.run(f"watch {condition}")
                found = []
                for command in 2 * ["continue"] + 2 * ["reverse-continue"]:
                    gdb.run(command)
                    found.append(f"{command}: {gdb.state()['position']}")
                stops[way].append([condition, *found])
                gdb.run(f"delete {number}")
    assert stops["passed"] == stops["looked at"]


def test_in_the_console(recorded: Recorded) -> None:
    lines = ["goto start", "break step if i == 2", "continue", "watch max(p[0]@n) > 2000"]
    lines += ["continue", "print i", "reverse-continue", "reverse-continue", "undo 2", "print u[7]"]
    answers = in_console(recorded.home, "job", lines)
    assert "Old value = 0" in answers[4] and "p[7] = 5000" in answers[4]
    assert "200" in answers[5] and "// up" in answers[6] and "i=2," in answers[7]
    assert "5000" in answers[9]
