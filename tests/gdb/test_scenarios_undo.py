"""Rows 9, 10 and 13: undo, exact to the register, and bisect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pexpect  # type: ignore[import-untyped]
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, SCRIPT, Gdb, Recorded
from scenario import everything, go, line_of
from terminal import hang_up

MOTIONS = ("finish", "until", "advance", "stepi 7", "step", "next", "nexti 3", "reverse-step")


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = "scenario_edges.c"
    made = Recorded(tmp_path_factory.mktemp("edges"), build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def judged(edges: Recorded) -> Iterator[Gdb]:
    with edges.gdb() as session:
        yield session


def test_row_9_undo_takes_back_one_command_at_a_time(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "stroll")
    start = everything(gdb)
    gdb.run("next 15")
    gdb.expect_at(recorded.at("stroll-15"))
    here = everything(gdb)
    gdb.run("break tick")
    gdb.run(f"break {recorded.at('print')}")
    gdb.run("continue")
    gdb.expect_at(recorded.at("print"))
    there = everything(gdb)
    gdb.run("undo")  # the motion; both breakpoints stay
    assert everything(gdb) == here
    assert gdb.breakpoints() == ["tick", recorded.at("print")]
    gdb.run("undo")
    assert everything(gdb) == here
    assert gdb.breakpoints() == ["tick"]
    gdb.run("undo")
    assert everything(gdb) == here
    assert gdb.breakpoints() == []
    gdb.run("undo")
    assert everything(gdb) == start
    gdb.run("redo 4")
    assert everything(gdb) == there
    assert gdb.breakpoints() == ["tick", recorded.at("print")]
    gdb.run("undo 4")
    assert everything(gdb) == start
    assert gdb.breakpoints() == []


def test_row_9_undo_gives_back_what_was_deleted(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')} if i == 5")
    gdb.run("continue")
    assert gdb.integer("i") == 5
    gdb.run("delete 1")
    assert gdb.breakpoints() == []
    gdb.run("undo")
    assert len(gdb.breakpoints()) == 1
    gdb.run("goto START")
    gdb.run("continue")
    assert gdb.integer("i") == 5  # the condition is back too


def test_row_9_undo_of_dprintf(gdb: Gdb, recorded: Recorded) -> None:
    """GDB's Python does not show them."""

    def shown() -> list[str]:
        lines = gdb.run("info breakpoints").splitlines()
        return [" ".join(line.split()[1:4]) for line in lines if " dprintf " in line] + [
            line.strip() for line in lines if line.strip().startswith(("printf ", "stop only"))
        ]

    place = recorded.at("tick")
    states = [shown()]
    for command in (
        f'dprintf {place},"first %d\\n", i',
        f'dprintf {place},"second\\n"',
        "condition 1 i == 600",
        "disable 2",
        "delete",
    ):
        gdb.run(command)
        gdb.run("rdb-state --command " + command)  # as the console does
        states.append(shown())
    assert [len(state) for state in states] == [0, 2, 4, 5, 5, 0]
    for state in reversed(states[:-1]):
        gdb.run("undo")
        assert shown() == state
    for state in states[1:-1]:
        gdb.run("redo")
        assert shown() == state
    gdb.run(f"break {recorded.at('after-ticks')}")
    said = gdb.run("continue")
    assert said.count("first 600") == 1 and "first 599" not in said and "second" not in said


def test_row_9_undo_of_handle(gdb: Gdb) -> None:
    before = gdb.run("info signals")
    gdb.run("handle SIGUSR1 nostop noprint")
    gdb.run("rdb-state --command handle SIGUSR1 nostop noprint")
    some = gdb.run("info signals")
    gdb.run("handle all nopass")
    gdb.run("rdb-state --command handle all nopass")
    assert len({before, some, gdb.run("info signals")}) == 3
    gdb.run("undo")
    assert gdb.run("info signals") == some
    said = gdb.run("undo")
    assert gdb.run("info signals") == before and "SIGUSR1 is stop, print, pass again." in said
    gdb.run("redo")
    assert gdb.run("info signals") == some


@pytest.mark.parametrize("command", MOTIONS)
def test_row_10_undo_of_a_motion(gdb: Gdb, recorded: Recorded, command: str) -> None:
    go(gdb, recorded, "tick", "i == 600")
    if command == "until":
        gdb.run("finish")
        gdb.run("next")  # at the head of the loop
        command = f"until {recorded.at('after-ticks')}"
    elif command == "advance":
        command = f"advance {recorded.at('after-ticks')}"
    before = everything(gdb)
    gdb.run(command)
    after = everything(gdb)
    assert after[:2] != before[:2]
    gdb.run("undo")
    assert everything(gdb) == before
    gdb.run("redo")
    assert everything(gdb) == after
    gdb.run("undo")
    assert everything(gdb) == before


def test_row_10_many_motions_undone_in_one(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-twice")
    seen = [everything(gdb)]
    for command in ("step", "stepi 7", "finish", "next", "reverse-next", "reverse-stepi"):
        gdb.run(command)
        seen.append(everything(gdb))
    for count in (1, 2, 3):
        gdb.run(f"undo {count}")
        seen = seen[:-count]
        assert everything(gdb) == seen[-1]


# Row 13.


def expect_edge(gdb: Gdb, expression: str, program: Recorded, place: str) -> None:
    """One stands just before the statement of that place: good here, bad one instruction on."""
    gdb.expect_at(program.at(place))
    assert gdb.integer(f"!!({expression})") == 1
    gdb.run("stepi")
    assert gdb.integer(f"!!({expression})") == 0


@pytest.mark.parametrize(("option", "place"), [("", "bad-1"), ("--last", "bad-2")])
def test_row_13_good_bad_good_bad(judged: Gdb, edges: Recorded, option: str, place: str) -> None:
    judged.run("goto END")
    end = everything(judged)
    said = judged.run(f"bisect good {option}")
    assert "Was = 1" in said and "Now = 0" in said
    assert f"scenario_edges.c:{line_of(edges, place)}" in said
    judged.run("undo")  # a search is a command like others
    assert everything(judged) == end
    judged.run("redo")
    expect_edge(judged, "good", edges, place)


@pytest.mark.parametrize("option", ["", "--last"])
def test_row_13_edges_with_no_event_between(judged: Gdb, edges: Recorded, option: str) -> None:
    judged.run(f"bisect dense {option}")
    there = judged.where()
    assert there in (edges.at("dense-1"), edges.at("dense-3"))
    expect_edge(judged, "dense", edges, there_name(edges, there))


def there_name(edges: Recorded, where: str) -> str:
    return "dense-1" if where == edges.at("dense-1") else "dense-3"


def test_row_13_an_expression_of_many_values(judged: Gdb, edges: Recorded) -> None:
    judged.run("bisect worse >= 3")
    judged.expect_at(f"scenario_edges.c:{line_of(edges, 'dense-2') + 1}")
    assert judged.integer("worse") == 3
    judged.run("stepi")
    judged.run("next")
    assert judged.integer("worse") == 2


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("always", "true at the end"),
        ("never", "false at the start"),
        ("no_such_thing", "No symbol"),
    ],
)
def test_row_13_refusals(judged: Gdb, edges: Recorded, expression: str, reason: str) -> None:
    go(judged, edges, "good-again")
    before = everything(judged)
    assert reason in judged.fails(f"bisect {expression}")
    assert everything(judged) == before


def rdb_bisect(program: Recorded, *arguments: str) -> subprocess.CompletedProcess[str]:
    return deadlines.run(
        [sys.executable, "-m", "rdb", "bisect", "job", *arguments],
        DEADLINE_S,
        env={**os.environ, "RDB_HOME": str(program.home)},
        stdin=subprocess.DEVNULL,
    )


def test_row_13_from_the_command_line(edges: Recorded) -> None:
    done = rdb_bisect(edges, "good", "--json")
    assert done.returncode == 0, done.stderr
    text = json.dumps(json.loads(done.stdout))
    assert f'"line": {line_of(edges, "bad-1")}' in text
    refused = rdb_bisect(edges, "always")
    assert refused.returncode == 1
    assert "true at the end" in refused.stdout + refused.stderr


def test_row_9_typed_at_a_terminal(recorded: Recorded) -> None:
    """GDB knows at its prompt what was typed; the history names it."""
    environment = {
        **os.environ,
        "RDB_HOME": str(recorded.home),
        "RDB_EXECUTABLE": str(Path(sys.executable).parent / "rdb"),
        "TERM": "dumb",
    }
    gdb = pexpect.spawn(
        "gdb",
        ["-nx", "-q", "-x", str(SCRIPT)],
        env=environment,
        encoding="utf-8",
        timeout=DEADLINE_S,
        dimensions=(50, 200),
    )

    def typed(command: str) -> str:
        gdb.sendline(command)
        gdb.expect_exact("(gdb) ")
        return str(gdb.before)

    try:
        gdb.expect_exact("(gdb) ")
        for setting in ("confirm off", "pagination off", "width 0"):
            typed(f"set {setting}")
        assert "Opened" in typed("rdb-open job")
        typed(f"tbreak {recorded.at('stroll')}")
        typed("continue")
        typed("next 15")
        here = typed("info registers")
        assert recorded.at("stroll-15") in typed("frame")
        typed(f"break {recorded.at('print')}")
        typed("display total")
        typed("continue")
        assert typed("info registers") != here
        shown = typed("history")
        for text in ("next 15", f"break {recorded.at('print')}", "display total", "continue"):
            assert text in shown
        typed("undo")
        assert typed("info registers") == here
        assert "total" in typed("info display")
        typed("undo")
        assert "total" not in typed("info display")
        assert "scenario_motion.c" in typed("info breakpoints")
        typed("undo")
        assert "No breakpoints" in typed("info breakpoints")
        assert typed("info registers") == here
        typed("undo")
        assert recorded.at("stroll") in typed("frame")
    finally:
        hang_up(gdb)
