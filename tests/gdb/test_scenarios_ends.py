"""Rows 27 and 30: how recordings end, and two sessions on one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, Gdb, Recorded
from scenario import everything, go, moved

from rdb.recording import open_job

LINES = 50
# How it ends: the exit code of rdb run, what rdb says of it, what GDB says at the end.
ENDS = {
    "segv": (128 + signal.SIGSEGV, "signal 11", "Program received signal SIGSEGV"),
    "abrt": (128 + signal.SIGABRT, "signal 6", "ends by signal 6"),
    "kill": (128 + signal.SIGKILL, "killed", "the rank was killed"),
    "exit": (3, "exited 3", "exits with code 3"),
    "_exit": (3, "exited 3", "exits with code 3"),
}
Ended = Callable[[str], Recorded]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Ended:
    """The program that ended that way, recorded once."""
    made: dict[str, Recorded] = {}

    def record(how: str) -> Recorded:
        if how not in made:
            source = "scenario_ends.c"
            folder = tmp_path_factory.mktemp("ends")
            made[how] = Recorded(folder, build(source, "-O0"), PROGRAMS / source, how)
        return made[how]

    return record


def check_nothing_lost(program: Recorded, gdb: Gdb, printed: str) -> None:
    """All that the program did before its end is there."""
    assert len(printed.splitlines()) == LINES
    gdb.run("goto END")
    assert gdb.run("output --raw") == printed
    assert gdb.integer("written") == LINES


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_stack_overflow_whose_handler_has_no_room(
    where: str, tmp_path: Path, build: Build
) -> None:
    source = "stack_overflow.c"
    program = Recorded(
        tmp_path, build(source, "-O0", "-pthread"), PROGRAMS / source, where, "plain"
    )
    assert program.done.returncode == 128 + signal.SIGSEGV, program.done.stderr
    with program.gdb() as gdb:
        gdb.run("goto END")
        assert gdb.integer("depth") > 100
        assert "ends by signal 11" in gdb.run("continue")
        assert "deeper" in gdb.run("backtrace 2")
        gdb.run("goto START")
        assert "SIGSEGV" in gdb.run("continue")  # before the handler, as on a live program
        assert "ends by signal 11" in gdb.run("continue")
        assert "ends by signal 11" in gdb.run("continue")


@pytest.mark.parametrize("how", ENDS)
def test_row_27_the_recording_ends_exactly_there(ended: Ended, how: str) -> None:
    code, state, says = ENDS[how]
    program = ended(how)
    assert program.done.returncode == code, program.done.stderr
    assert open_job(program.home / "job").rank(0).state == state
    with program.gdb() as gdb:
        assert state in gdb.opened
        assert says in gdb.run("continue")
        end = everything(gdb)
        assert gdb.state()["at_end"]
        # The statement, called from main, is on the stack; nothing of a handler of ours is.
        named = [frame for frame in gdb.frames() if frame.get("func") in ("finish", "main")]
        assert [frame["func"] for frame in named] == ["finish", "main"]
        assert gdb.frames()[-2:] == named
        places = [f"{program.source.name}:{frame['line']}" for frame in named]
        assert places == [program.at(how), program.at("main-finish")]
        if how == "segv":
            gdb.expect_at(program.at("segv"))
            assert gdb.value("nowhere") == "0x0"
        # There is no further.
        assert not moved(gdb.run("continue"))
        said = gdb.run("stepi")  # a fault is met again
        assert "SIGSEGV" in said if how == "segv" else not moved(said)
        assert everything(gdb) == end
        check_nothing_lost(program, gdb, program.done.stdout)
        assert everything(gdb) == end
        # Back and there again.
        go(gdb, program, "main-finish")
        assert gdb.integer("written") == LINES
        gdb.run("continue")
        assert everything(gdb) == end
        gdb.run("reverse-stepi")
        assert everything(gdb) != end
        gdb.run("stepi")
        assert not gdb.state()["branch"]
        assert everything(gdb) == end


def test_finish_at_the_end_after_a_change(ended: Ended) -> None:
    """The end's frame was selected by rdb, not by the user, also when memory has been written."""
    with ended("exit").gdb() as gdb:
        for command in ("goto END", "set var written = 7"):
            gdb.run(command)
            gdb.run(f"rdb-state --command {command}")
        assert gdb.integer("written") == 7
        assert "Run till exit from #0 " in gdb.run("finish")


def test_row_27_killed_from_outside(build: Build, tmp_path: Path) -> None:
    source = "scenario_ends.c"
    program = build(source, "-O0")
    running = subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", "--name", "job", "--", str(program), "wait"],
        env={**os.environ, "RDB_HOME": str(tmp_path / "rdb-home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    printed = [running.stdout.readline() for _ in range(LINES)]
    os.kill(int(printed[0].split()[0]), signal.SIGKILL)
    deadlines.communicate(running, DEADLINE_S)
    assert running.returncode == 128 + signal.SIGKILL
    assert open_job(tmp_path / "rdb-home" / "job").rank(0).state == "killed"
    with Gdb("job", home=tmp_path / "rdb-home") as gdb:
        assert "killed" in gdb.run("continue")
        assert gdb.state()["at_end"]
        shown = gdb.run("output --raw")
        # It may have been killed before its last write was answered, but not before that began.
        assert shown == "".join(printed[: gdb.integer("written")])
        assert gdb.integer("written") >= LINES - 1


def files_of(home: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of all that belongs to the recording."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def test_row_30_two_sessions_on_one_recording(ended: Ended) -> None:
    program = ended("segv")
    before = files_of(program.home)
    with program.gdb() as one, program.gdb() as other:
        go(one, program, "main-finish")
        assert other.state()["at_start"]
        start = everything(other)
        there = everything(one)
        one.run("break finish")
        assert other.breakpoints() == []
        # Both move at the same time.
        one.start("reverse-continue")
        other.start("continue")
        assert "SIGSEGV" in other.finish()
        assert "start of the recording" in one.finish()
        assert everything(one) == start
        assert other.integer("written") == LINES
        # A change in one is not seen in the other.
        one.run("undo")
        assert everything(one) == there
        one.run("set variable written = 7")
        assert other.integer("written") == LINES
        other.run("undo")
        assert everything(other) == start
        assert one.integer("written") == 7
        other.run("tbreak finish")
        other.run("continue")
        assert other.integer("written") == LINES
    with program.gdb() as again:
        assert everything(again) == start
        again.run("break finish")
        again.run("continue")
        assert again.integer("written") == LINES
    assert files_of(program.home) == before
    assert open_job(program.home / "job").rank(0).state == "signal 11"


def test_row_30_one_session_ends_the_other_goes_on(ended: Ended) -> None:
    program = ended("exit")
    with program.gdb() as stays:
        go(stays, program, "main-finish")
        here = everything(stays)
        with program.gdb() as leaves:
            go(leaves, program, "exit")
            # Not even a polite end disturbs.
            leaves.run("kill")
        assert everything(stays) == here
        stays.run("continue")
        assert stays.state()["at_end"]
        stays.run("undo")
        assert everything(stays) == here
