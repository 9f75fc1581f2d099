"""Row 25: what-if branches, whose steps are undone one by one; the recording stays as it is."""

from __future__ import annotations

import os
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, SCRIPT, Gdb, Recorded
from scenario import everything, go
from terminal import hang_up


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("branches")
    made = Recorded(folder, build("reverse.c", "-O0"), PROGRAMS / "reverse.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


def seen(gdb: Gdb) -> tuple[Any, ...]:
    """What undo has to bring back; a branch's states have no position of their own."""
    state = gdb.state()
    memory = [gdb.integer(name) for name in ("stages", "total", "counter")]
    return state["branch"], state["event"], gdb.registers(), memory, gdb.breakpoints()


def test_row_25_each_command_in_a_branch_is_undone_alone(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    commands = (
        *("set var stages = 40", "next", f"break {recorded.at('tick')}", "continue"),
        *("set var counter = 500", "print fact(4)", "finish", "stepi 3", "set var $rbx = 7"),
    )
    states = [seen(gdb)]
    length = gdb.state()["history"]
    for count, command in enumerate(commands, start=1):
        gdb.run(command)
        states.append(seen(gdb))
        assert gdb.state()["history"] == length + count, command
        assert states[-1][0], command
    for before in reversed(states[:-1]):
        gdb.run("undo")
        assert seen(gdb) == before
    for after in states[1:]:
        gdb.run("redo")
        assert seen(gdb) == after
    for count in (4, 3, 2):
        gdb.run(f"undo {count}")
        states = states[:-count]
        assert seen(gdb) == states[-1]
    assert not gdb.state()["branch"]


def test_row_25_the_recorded_history_is_untouched(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "files-done")
    there = everything(gdb)
    go(gdb, recorded, "after-fact")
    here = everything(gdb)
    gdb.run("set var stages = 40")
    gdb.run("set var total = 1")
    gdb.run("print fact(3)")
    gdb.run(f"tbreak {recorded.at('after-ticks')}")
    gdb.run("continue")
    assert gdb.integer("stages") == 42
    gdb.run("goto START")
    go(gdb, recorded, "files-done")
    assert everything(gdb) == there
    assert gdb.integer("stages") == 4
    go(gdb, recorded, "after-fact")
    assert everything(gdb) == here


def test_row_25_it_stops_where_the_log_has_no_answer(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "write")
    # Another length is asked for than was recorded: up to there all is answered.
    gdb.run("set var total = 99")
    gdb.run("break write")
    gdb.run("continue")
    gdb.run("set var $rdx = 5")
    before = seen(gdb)
    said = gdb.run("continue")
    assert "the recording cannot answer what it asks next" in said
    assert "(event 2: write(2): argument 2" in said and "undo" in said
    assert gdb.state()["branch"]
    assert gdb.integer("total") == 99  # one can look around there
    assert "write" in gdb.run("backtrace")
    assert "cannot answer" in gdb.run("continue")
    gdb.run("undo")
    assert seen(gdb) == before
    gdb.run("set var $rdx = 13")
    gdb.run("finish")  # what was recorded is answered
    assert gdb.integer("total") == 99


def test_row_25_going_back_leaves_the_branch(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    here = everything(gdb)
    gdb.run("set var stages = 40")
    gdb.run("next")
    inside = seen(gdb)
    said = gdb.run("reverse-continue")
    assert "back where the branch left the recording" in said
    assert everything(gdb) == here
    gdb.run("undo")
    assert seen(gdb) == inside


def test_branches_are_listed_named_entered_and_dropped(gdb: Gdb, recorded: Recorded) -> None:
    assert "No branches" in gdb.run("branch")
    assert "no branch" in gdb.fails("branch name x")
    go(gdb, recorded, "after-fact")
    gdb.run("set var stages = 40")
    gdb.run("next")
    first = seen(gdb)
    gdb.run("branch name forty")
    gdb.run("goto END")
    go(gdb, recorded, "after-ticks")
    here = everything(gdb)
    gdb.run("set var counter = 1")
    lines = gdb.run("branch list").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("  1   forty") and recorded.at("after-fact") in lines[0]
    assert lines[1].startswith("* 2   -") and recorded.at("after-ticks") in lines[1]
    assert "already" in gdb.fails("branch name forty")
    gdb.run("branch go forty")
    assert seen(gdb)[:4] == first[:4]
    assert gdb.state()["branch_title"] == "forty"
    gdb.run("undo")
    assert gdb.integer("counter") == 1 and gdb.state()["branch_title"] == "2"
    gdb.run("branch drop")
    assert everything(gdb) == here
    assert len(gdb.run("branch list").splitlines()) == 1
    gdb.run("branch drop forty")
    assert "No branches" in gdb.run("branch")
    assert "No branch" in gdb.fails("branch go forty")
    # What was in them cannot be come back to: undo passes over it.
    gdb.run("undo 3")
    assert not gdb.state()["branch"]


def test_the_prompt_is_marked_in_a_branch(recorded: Recorded) -> None:
    environment = {**os.environ, "RDB_HOME": str(recorded.home), "TERM": "dumb"}
    gdb = pexpect.spawn(
        "gdb",
        ["-nx", "-q", "-x", str(SCRIPT)],
        env=environment,
        encoding="utf-8",
        timeout=DEADLINE_S,
        dimensions=(50, 200),
    )
    try:
        gdb.expect_exact("(gdb) ")
        for command in ("set confirm off", "set pagination off", "rdb-open job", "tbreak tick"):
            gdb.sendline(command)
            gdb.expect_exact("(gdb) ")
        gdb.sendline("continue")
        gdb.expect_exact("(gdb) ")
        gdb.sendline("set var counter = 5")
        gdb.expect_exact("branch 1 (gdb) ")
        gdb.sendline("branch name five")
        gdb.expect_exact("branch five (gdb) ")
        gdb.sendline("set prompt mine> ")
        gdb.expect_exact("branch five mine> ")
        gdb.sendline("undo")
        gdb.expect_exact("\nmine> ")
        gdb.sendline("redo")
        gdb.expect_exact("\nbranch five mine> ")
    finally:
        hang_up(gdb)


def test_of_a_long_branch_the_newest_states_are_kept(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    here = everything(gdb)
    length = gdb.state()["history"]
    gdb.run("set var stages = 40")
    for _ in range(70):
        gdb.run("stepi")
    states = [seen(gdb)]
    for _ in range(5):
        gdb.run("undo")
        states.append(seen(gdb))
    assert len({str(state) for state in states}) == 6
    # The state right after the change is not kept any more: undo goes to before it.
    assert "the state before that was not kept" in gdb.run("undo 65")
    assert everything(gdb) == here
    assert gdb.state()["history"] == length
    gdb.run("redo 66")
    assert seen(gdb) == states[-1]
