"""Going back and forth through a real GDB: what GDB's own commands do on a recording.

Numbers in names are those of the list of things a reversible debugger must get right.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import go, moved


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("reverse")
    program = build("reverse.c", "-O0")
    made = Recorded(folder, program, PROGRAMS / "reverse.c", str(folder / "text"))
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_01_reverse_finish_from_recursion(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("break fact if n == 2")
    gdb.run("continue")
    depth = gdb.depth()
    gdb.run("reverse-finish")
    gdb.expect_at(recorded.at("fact-call"))
    assert gdb.value("n") == "3"
    assert gdb.depth() == depth - 1
    gdb.run("stepi")  # it stood at the call itself
    assert gdb.depth() == depth


def test_02_reverse_step_enters_the_callee_at_its_end(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-twice")
    gdb.run("reverse-step")
    assert gdb.function() == "twice"
    # The closing brace is its last line: the `ret` came last.
    last = int(recorded.at("twice-last").split(":")[1]) + 1
    gdb.expect_at(f"reverse.c:{last}")
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("twice-last"))
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("twice-first"))
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("main-twice"))
    assert gdb.function() == "main"


def test_03_reverse_next_steps_over_the_callee(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-twice")
    gdb.run("reverse-next")
    gdb.expect_at(recorded.at("main-twice"))
    assert gdb.function() == "main"
    assert gdb.integer("total") == 120


def test_04_reverse_finish_out_of_a_callback(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "compare")
    gdb.run("reverse-finish")
    frames = [frame.get("func") for frame in gdb.frames()]
    assert "compare" not in frames
    assert frames[-1] == "main"
    assert len(frames) > 1  # in qsort or what it calls, not in main


def test_05_reverse_continue_goes_to_the_hit_before(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('tick')} if i == 699")
    gdb.run("continue")
    gdb.run(f"break {recorded.at('tick')}")
    for expected in (698, 697, 696):
        gdb.run("reverse-continue")
        gdb.expect_at(recorded.at("tick"))
        assert gdb.integer("i") == expected
    gdb.run("continue")
    assert gdb.integer("i") == 697


def test_06_condition_is_kept_backwards(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('tick')} if i == 900")
    gdb.run("continue")
    gdb.run(f"break {recorded.at('tick')} if i == 500")
    gdb.run("reverse-continue")
    assert gdb.integer("i") == 500
    assert not moved(gdb.run("reverse-continue"))


def test_07_a_new_breakpoint_acts_on_the_past(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("goto END")
    gdb.run(f"break {recorded.at('main-fact')}")
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("main-fact"))
    gdb.run(f"tbreak {recorded.at('tick')} if i == 5")
    gdb.run("continue")
    for command in ("reverse-stepi", "reverse-finish", "reverse-step", "reverse-next"):
        gdb.run(command)
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("main-fact"))


def test_08_disabled_and_deleted_breakpoints_are_passed(gdb: Gdb, recorded: Recorded) -> None:
    for name in ("main-fact", "main-twice", "qsort"):
        gdb.run(f"break {recorded.at(name)}")
    go(gdb, recorded, "main-fact")
    gdb.run(f"tbreak {recorded.at('after-ticks')}")
    gdb.run("disable 3")
    gdb.run("delete 2")
    gdb.run("continue")
    gdb.expect_at(recorded.at("after-ticks"))
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("main-fact"))


def test_09_undo_takes_back_the_motion_then_the_breakpoint(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-fact")
    gdb.run("next 3")
    start = gdb.where()
    gdb.run("next 2")
    here = gdb.where(), gdb.registers()
    assert here[0] != start
    gdb.run("break files")
    gdb.run("continue")
    assert gdb.function() == "files"
    gdb.run("undo")
    assert (gdb.where(), gdb.registers()) == here
    assert gdb.breakpoints() == ["files"]
    gdb.run("undo")
    assert (gdb.where(), gdb.registers()) == here
    assert gdb.breakpoints() == []
    gdb.run("undo")
    assert gdb.where() == start


@pytest.mark.parametrize(
    "command", ["finish", "until {after-ticks}", "advance {after-ticks}", "stepi 7"]
)
def test_10_undo_of_motion_is_exact(gdb: Gdb, recorded: Recorded, command: str) -> None:
    if "{" in command:
        go(gdb, recorded, "after-twice")
        command = command.format(**{"after-ticks": recorded.at("after-ticks")})
    else:
        gdb.run(f"tbreak {recorded.at('tick')} if i == 3")
        gdb.run("continue")
    before = gdb.registers(), gdb.state()["position"], gdb.value("counter")
    gdb.run(command)
    assert gdb.registers() != before[0]
    gdb.run("undo")
    assert (gdb.registers(), gdb.state()["position"], gdb.value("counter")) == before


def test_11_nothing_before_is_the_start(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-fact")
    said = gdb.run("reverse-continue")
    assert not moved(said)
    assert "start of the recording" in said
    assert gdb.state()["at_start"]
    go(gdb, recorded, "after-fact")
    assert gdb.integer("total") == 120


def test_15_reverse_watch_sees_changes_not_writes(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "eight")
    gdb.run("watch total")
    said = gdb.run("reverse-continue")
    # `total = total` is passed; the write of 7 is not.
    assert "Old value = 7" in said and "New value = 8" in said
    line = int(recorded.at("same").split(":")[1]) - 1
    gdb.expect_at(f"reverse.c:{line}")


def test_15_reverse_watch_stops_at_the_event_that_filled_a_buffer(
    gdb: Gdb, recorded: Recorded
) -> None:
    go(gdb, recorded, "files-done")
    assert gdb.value("buffer").startswith('"two"')
    gdb.run("watch buffer[0]")
    said = gdb.run("reverse-continue")
    assert "Old value = 116 't'" in said
    assert "read (fd=" in gdb.run("backtrace 5")
    assert gdb.integer("buffer[0]") == 0
    event = gdb.state()["event"]
    gdb.run("continue")
    assert gdb.integer("buffer[0]") == ord("t")
    assert gdb.state()["event"] == event + 1


def test_21_files_stay_as_the_run_left_them(gdb: Gdb, recorded: Recorded) -> None:
    path = recorded.folder / "text"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert before[0] == b"one two three four"
    go(gdb, recorded, "append")
    gdb.run("next")
    gdb.run("undo")
    gdb.run("goto END")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_22_output_is_shown_from_the_recording(gdb: Gdb, recorded: Recorded) -> None:
    assert "counter 499500 total 8" in recorded.done.stdout
    go(gdb, recorded, "flush")
    assert gdb.run("output --raw") == ""
    said = gdb.run("next")
    assert "counter" not in said.replace("printf", "")
    assert gdb.run("output --raw") == "counter 499500 total 8\n"


def test_23_what_came_from_outside_is_the_same_again(gdb: Gdb, recorded: Recorded) -> None:
    def gathered() -> list[str]:
        names = ("now.tv_sec", "now.tv_nsec", "random_word", "cycles", "&numbers", "$rsp")
        return [gdb.value(name) for name in names]

    go(gdb, recorded, "clock")
    gdb.run(f"tbreak {recorded.at('gathered')}")
    gdb.run("continue")
    first = gathered()
    assert first[2] != "0"
    for _ in range(2):
        gdb.run("undo")
        gdb.expect_at(recorded.at("clock"))
        gdb.run("continue")
        gdb.expect_at(recorded.at("gathered"))
        assert gathered() == first


def test_a_file_of_the_recording_is_enough(recorded: Recorded, tmp_path: Path) -> None:
    """The program itself may be gone: GDB gets it from the store."""
    with recorded.gdb() as gdb:
        assert "target:" in gdb.run("info files")
