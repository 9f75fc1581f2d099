"""Names that users of rr and Undo know, the history as a file, settings, what cannot be undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import everything, go


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("names")
    made = Recorded(folder, build("reverse.c", "-O0"), PROGRAMS / "reverse.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_checkpoints_as_in_rr(gdb: Gdb, recorded: Recorded) -> None:
    assert "No checkpoints." in gdb.run("info checkpoints")
    go(gdb, recorded, "after-fact")
    here = everything(gdb)
    said = gdb.run("checkpoint")
    assert said.startswith("Checkpoint 1 at main (") and recorded.at("after-fact") in said
    go(gdb, recorded, "after-ticks")
    there = everything(gdb)
    assert gdb.run("checkpoint").startswith("Checkpoint 2 at main (")
    gdb.run("restart 1")
    assert everything(gdb) == here
    gdb.run("restart 2")
    assert everything(gdb) == there
    gdb.run("undo")
    assert everything(gdb) == here
    assert len(gdb.run("info checkpoints").splitlines()) == 2
    gdb.run("delete checkpoint 2")
    assert len(gdb.run("info checkpoints").splitlines()) == 1
    assert "No checkpoint number 2" in gdb.fails("restart 2")
    assert "Which" in gdb.fails("restart")


def test_a_checkpoint_in_a_branch_is_of_the_branch(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    gdb.run("set var stages = 40")
    gdb.run("checkpoint")
    gdb.run("goto END")
    gdb.run("restart 1")
    assert gdb.state()["branch"] and gdb.integer("stages") == 40
    gdb.run("branch drop")
    assert "not kept" in gdb.fails("restart 1")


def test_run_goes_to_an_event(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("run 3")
    assert gdb.state()["event"] == 3
    assert gdb.run("when").startswith("Completed event: 3 (3)")
    gdb.run("run")
    assert gdb.state()["at_start"]
    gdb.run("undo 2")
    assert gdb.state()["at_start"]
    assert "not in the recording" in gdb.fails("run 100000")


def test_names_of_undo(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    here = everything(gdb)
    assert gdb.run("ubookmark here").startswith("Bookmark here at 0:0x")
    gdb.run("ugo end")
    assert gdb.state()["at_end"]
    said = gdb.run("uinfo time")
    assert said.startswith("Current time is: ") and "(100%)" in said
    gdb.run("ugo start")
    assert gdb.state()["at_start"]
    gdb.run("ugo event 2")
    assert gdb.state()["event"] == 2
    gdb.run("ugo bookmark here")
    assert everything(gdb) == here
    gdb.run("ugo end")
    gdb.run(f"ugo time {here[0]}")
    assert everything(gdb) == here
    assert "here" in gdb.run("uinfo bookmarks")
    assert "Usage" in gdb.fails("ugo nowhere") and "Usage" in gdb.fails("uinfo")
    assert "No bookmark" in gdb.fails("ugo bookmark there")


def test_short_names_of_the_reverse_commands(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-twice")
    gdb.run("step")
    first = everything(gdb)
    for forward, back in (("stepi", "rsi"), ("nexti", "rni"), ("next", "rn"), ("step", "rs")):
        gdb.run(forward)
        gdb.run(back)
        assert everything(gdb) == first, back
    gdb.run("rf")
    gdb.expect_at(recorded.at("main-twice"))
    gdb.run("rc")
    assert gdb.state()["at_start"]


def test_gdbs_own_are_left_alone_without_a_recording() -> None:
    with Gdb() as gdb:
        assert "fork" in gdb.run("help checkpoint").lower()
        assert "Start debugged program" in gdb.run("help run")
        assert "No checkpoints" in gdb.run("info checkpoints")


def test_a_program_can_be_run_after_a_recording(gdb: Gdb, build: Build) -> None:
    gdb.run("disconnect")
    gdb.run(f"file {build('reverse.c', '-O0')}")
    gdb.run("break tick")
    gdb.run("run")
    gdb.expect_at("tick")
    gdb.run("kill")


def test_undo_to_a_bookmark(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    gdb.run("break files")
    gdb.run("bookmark here")
    assert "Nothing was done" in gdb.fails("undo --to here")
    before = everything(gdb), gdb.breakpoints()
    gdb.run("delete 2")
    gdb.run("set print pretty on")
    gdb.run("display total")
    gdb.run("next")
    gdb.run("set var stages = 4")
    gdb.run("next")
    gdb.run("undo --to here")
    assert (everything(gdb), gdb.breakpoints()) == before
    assert "is off" in gdb.run("show print pretty")
    assert "no auto-display" in gdb.run("info display")
    gdb.run("undo")
    gdb.run("next")
    assert "undone" in gdb.fails("undo --to here")
    assert "No bookmark" in gdb.fails("undo --to there")


@pytest.mark.parametrize(
    ("command", "show"),
    [
        ("set print pretty on", "show print pretty"),
        ("set print elements 7", "show print elements"),
        ("set print elements unlimited", "show print elements"),
        ("set disassembly-flavor intel", "show disassembly-flavor"),
        ("set scheduler-locking step", "show scheduler-locking"),
        ("set listsize unlimited", "show listsize"),
        ("set step-mode on", "show step-mode"),
        ("set language c++", "show language"),
        ("set args one two", "show args"),
        ("set displaced-stepping off", "show displaced-stepping"),
    ],
)
def test_settings_are_undone(gdb: Gdb, recorded: Recorded, command: str, show: str) -> None:
    before = gdb.run(show)
    gdb.run(command)
    after = gdb.run(show)
    assert after != before
    assert gdb.state()["history"] == 1
    assert "again" in gdb.run("undo")
    assert gdb.run(show) == before
    gdb.run("redo")
    assert gdb.run(show) == after


def test_reverse_finish_leaves_no_setting_behind(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "twice-last")
    length = gdb.state()["history"]
    gdb.run("reverse-finish")
    assert gdb.state()["history"] == length + 1
    assert "step-mode" not in gdb.run("history")


def test_history_shows_the_places_before_and_after(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    gdb.run("rdb-state --command (there)")
    gdb.run("next")
    gdb.run("rdb-state --command next")
    gdb.run("set var stages = 3")
    gdb.run("rdb-state --command set var stages = 3")
    moved, changed = gdb.run("history").splitlines()[-2:]
    places = f"event 0, {recorded.at('after-fact')} -> event 0, {recorded.at('main-twice')}"
    assert "next" in moved and places in moved
    assert changed.startswith("=> ") and "set var stages = 3" in changed
    assert f"event 0, {recorded.at('main-twice')}  (branch 1)" in changed


def test_a_saved_history_is_done_again_on_another_recording(
    recorded: Recorded, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> None:
    script = tmp_path / "commands"
    with recorded.gdb() as gdb:
        for command in ("break files", "continue", "set var total = 77", "next", "step"):
            gdb.run(command)
            gdb.run(f"rdb-state --command {command}")
        gdb.run("undo")
        gdb.run("rdb-state --fast")
        assert "4 commands written" in gdb.run(f"history --save {script}")
        here, total = gdb.where(), gdb.integer("total")
        assert "cannot write" in gdb.fails(f"history --save {tmp_path}/none/commands")
    assert script.read_text().splitlines() == [
        *("break files", "continue", "set var total = 77", "next")
    ]
    other = Recorded(
        tmp_path_factory.mktemp("other"),
        build("reverse.c", "-O0"),
        PROGRAMS / "reverse.c",
        str(tmp_path / "file"),
    )
    with other.gdb() as gdb:
        gdb.run(f"source {script}")
        assert (gdb.where(), gdb.integer("total")) == (here, total)
        gdb.run("undo 4")
        assert gdb.state()["at_start"] and not gdb.breakpoints()


@pytest.mark.parametrize(
    "command", ["shell true", "!true", "make --version", "pipe info line | cat"]
)
def test_what_cannot_be_undone_says_so_before(gdb: Gdb, command: str) -> None:
    said = gdb.run(command)
    assert "cannot be undone" in said.splitlines()[0]
    assert gdb.state()["history"] == 0


def test_what_ends_the_session_says_so(gdb: Gdb) -> None:
    assert "cannot be undone" in gdb.run("detach")
    assert "cannot be undone" not in gdb.run("shell true")


def test_every_command_has_help(gdb: Gdb) -> None:
    listed = gdb.run("help user-defined")
    assert "warnings.before" not in listed
    for name in ("branch", "checkpoint", "restart", "run", "ugo", "uinfo", "ubookmark", "undo"):
        assert gdb.run(f"help {name}").count("\n") >= 1


INLINED = """volatile int x;
static inline __attribute__((always_inline)) void inner(int n)
{
	x += n;
	x *= 2;
}
__attribute__((noinline)) void outer(int n)
{
	x = n;
	inner(n);
	x++;
}
int main(void)
{
	outer(3);
	return 0;
}
"""


def test_a_step_into_an_inlined_call_is_undone(
    tmp_path: Path, build_text: Callable[..., Path]
) -> None:
    made = Recorded(tmp_path, build_text("inlined", INLINED, "-O1"), tmp_path / "inlined.c")
    with made.gdb() as gdb:
        gdb.run("break outer")
        gdb.run("continue")
        gdb.run("next")
        at_call = gdb.run("frame").partition(" ")[2].strip()
        assert at_call.startswith("outer (n=")
        length, registers = gdb.state()["history"], gdb.registers()
        gdb.run("step")  # goes from frame to frame and not to another place
        assert gdb.registers() == registers
        assert gdb.function() == "inner"
        assert gdb.state()["history"] == length + 1
        shown = gdb.run("undo")
        assert at_call in shown  # the caller's frame is shown and selected
        assert at_call in gdb.run("frame")
        assert gdb.registers() == registers
        gdb.run("redo")
        assert " inner (" in gdb.run("frame")
        gdb.run("undo 2")
        assert gdb.where() == "inlined.c:9" and gdb.state()["history"] == length - 1
