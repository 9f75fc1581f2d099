"""The commands that rdb adds to GDB, in a real GDB on a real recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import deadlines
import pexpect
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, SCRIPT, Gdb, GdbError, Recorded
from scenario import go
from terminal import hang_up

from rdb.session.processes import descendants


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("extension")
    made = Recorded(folder, build("reverse.c", "-O0"), PROGRAMS / "reverse.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_opening(gdb: Gdb, recorded: Recorded) -> None:
    assert "Opened job, rank 0: events 0 to" in gdb.opened
    state = gdb.state()
    assert state["at_start"] and state["event"] == 0 and state["history"] == 0
    assert "not found" not in gdb.run("info sharedlibrary")


def test_modules_for_rare_commands_are_imported_at_their_use(gdb: Gdb) -> None:
    script = "import sys; print(*sorted({'ctypes', 'pathlib', 'pickle', 'socket', 'subprocess'} & "
    script += "set(sys.modules)))"
    bare = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", f"python {script}"], capture_output=True, check=True
    )
    assert gdb.run(f"python {script}").strip() == bare.stdout.decode().strip()


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_the_server_leaves_the_pipe_that_gdb_would_look_into_at_every_byte(
    recorded: Recorded, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GDB starts it by $SHELL (gdb/ser-pipe.c): dash stays a process in between, bash does not."""
    monkeypatch.setenv("SHELL", shell)
    with recorded.gdb() as gdb:
        (server,) = (one for one in descendants(gdb.pid) if _is_server(one.pid))
        pipes = {os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in (1, 2)}
        assert pipes == {os.readlink(f"/proc/{gdb.pid}/fd/2")}


def _is_server(pid: int) -> bool:
    return b"--stdio" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_server_that_fails_once_leaves_none_behind(tmp_path: Path) -> None:
    """It is asked why, and may work this time: then it must end without a client."""
    rdb = tmp_path / "rdb"
    rdb.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/failed ] || {{ : > {tmp_path}/failed; exit 1; }}\n"
        'case "$*" in *--socket*) exec sleep 1000;; esac\nexec cat\n'
    )
    rdb.chmod(0o755)
    with Gdb(executable=rdb, deadline_s=60) as gdb:
        with pytest.raises(GdbError, match="cannot open job"):
            gdb.run(f"rdb-template job 0 {tmp_path}")
        assert not any(one.alive for one in descendants(gdb.pid))


def test_when_prints_a_position_that_goto_takes(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('tick')} if i == 30")
    gdb.run("continue")
    pc = gdb.integer("$pc")
    said = gdb.run("when")
    assert said == f"Completed event: 0 (0:{pc:#x}:31)\n"
    before = gdb.registers()
    gdb.run("goto END")
    assert gdb.state()["at_end"]
    gdb.run(f"goto 0:{pc:#x}:31")
    assert gdb.registers() == before
    assert gdb.integer("i") == 30


def test_goto_refuses_what_is_not_there(gdb: Gdb) -> None:
    assert "not in the recording" in gdb.fails("goto 100000")
    assert "not in the recording" in gdb.fails("goto event 100000")
    assert "No bookmark" in gdb.fails("goto nowhere")
    assert "Usage" in gdb.fails("goto")
    assert "not a position" in gdb.fails("goto 1:x")
    assert gdb.state()["at_start"]
    assert gdb.state()["history"] == 0


def test_bookmarks(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    assert gdb.run("bookmark here").startswith("Bookmark here at 0:0x")
    gdb.run("goto END")
    gdb.run("goto here")
    gdb.expect_at(recorded.at("after-fact"))
    assert "here" in gdb.run("bookmark")
    assert "one word" in gdb.fails("bookmark 12")


def test_undo_brings_a_deleted_breakpoint_back_as_it_was(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')} if i > 5")
    gdb.run("ignore 1 3")
    gdb.run("disable 1")
    gdb.run("delete 1")
    assert gdb.breakpoints() == []
    said = gdb.run("undo")
    assert "is back (it was 1)" in said
    row = gdb.mi("-break-list")[1]["BreakpointTable"]["body"][0]
    assert (row["cond"], row["enabled"], row["ignore"]) == ("i > 5", "n", "3")
    gdb.run("undo")
    gdb.run("continue")
    assert gdb.integer("i") == 9
    gdb.run("undo 2")
    assert gdb.mi("-break-list")[1]["BreakpointTable"]["body"][0].get("ignore") is None
    gdb.run("undo")
    assert gdb.breakpoints() == []
    assert "Nothing to undo" in gdb.fails("undo")


def test_redo_goes_the_same_way_again(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')} if i == 7")
    gdb.run("continue")
    gdb.run("stepi 3")
    end = gdb.registers()
    gdb.run("undo 3")
    assert gdb.state()["undone"] == 3
    assert gdb.state()["at_start"]
    gdb.run("redo 2")
    assert gdb.integer("i") == 7
    gdb.run("redo")
    assert gdb.registers() == end
    assert len(gdb.breakpoints()) == 1
    assert "Nothing to redo" in gdb.fails("redo")
    gdb.run("undo 2")
    gdb.run("stepi")
    assert gdb.state()["undone"] == 0  # a new command ends what could be redone


def test_reverse_commands_are_commands(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-ticks")
    before = gdb.registers()
    gdb.run("reverse-continue")
    assert gdb.state()["at_start"]
    gdb.run("undo")
    assert gdb.registers() == before


def test_displays_and_watchpoints_are_undone(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-fact")
    gdb.run("display/x total")
    gdb.run("watch total")
    assert "Old value = 0" in gdb.run("continue")
    assert "0x78" in gdb.run("info line") or "0x78" in gdb.run("display")
    said = gdb.run("undo")
    assert "0x0" in said  # the display is shown again
    # The watchpoint knows the value of where it is now.
    said = gdb.run("continue")
    assert "Old value = 0" in said and "New value = 120" in said
    gdb.run("undo 2")
    assert gdb.breakpoints() == []
    assert "/x total" in gdb.run("info display")
    gdb.run("undo")
    assert "no auto-display" in gdb.run("info display")


def test_a_watched_local_waits_for_its_frame(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "twice-first")
    gdb.run("watch result")
    assert "is off" in gdb.run("goto START")
    assert gdb.breakpoints() == ["result"]
    gdb.run("undo")
    said = gdb.run("continue")
    assert "New value = 8" in said


def test_last_goes_to_the_write(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "files-done")
    said = gdb.run("last total")
    assert "Was = 7\nNow = 8\n" in said
    gdb.expect_at(recorded.at("eight"))
    assert "Was = 8\nNow = 7\n" in gdb.run("last")  # `total = total` is no change
    assert "Was = 120\nNow = 8\n" in gdb.run("last")
    gdb.expect_at(recorded.at("twice-last"))
    gdb.run("undo 3")
    gdb.expect_at(recorded.at("files-done"))


def test_ctrl_c_when_the_rank_has_just_moved(gdb: Gdb, recorded: Recorded) -> None:
    """It comes too late: GDB sees the rank where it is, and undo knows of it."""
    gdb.run("goto END")
    pc = gdb.integer("$pc")
    gdb.run("python import os, signal, sys; from rdb_gdb import link; really = link._exchange")
    gdb.run(
        "python link._exchange = lambda request: (really(request), request.startswith("
        "('qRdb.seek', 'qRdb.last-change')) and os.kill(os.getpid(), signal.SIGINT))[0]"
    )
    for command in ("goto START", "last total"):
        gdb.run(command)
        at = gdb.state()["pc"]
        assert gdb.integer("$pc") == at != pc
        gdb.run("undo")
        assert gdb.integer("$pc") == gdb.state()["pc"] == pc


def test_last_names_the_event_that_wrote(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "gathered")
    said = gdb.run("last random_word")
    assert "Was = 0\n" in said
    assert "Changed by event" in said and "getrandom(" in said


def test_last_of_what_nothing_writes(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    assert "not in memory" in gdb.fails("last 3 + 4")
    assert "No symbol" in gdb.fails("last nosuch")
    before = gdb.state()
    assert "has not changed since the start" in gdb.run("last good")
    assert gdb.state() == before


def test_bisect_finds_the_statement(gdb: Gdb, recorded: Recorded) -> None:
    said = gdb.run("bisect counter < 1000")
    assert "counter < 1000 turned false in rank 0" in said
    gdb.expect_at(recorded.at("tick"))
    assert gdb.integer("counter") < 1000
    gdb.run("stepi")
    assert gdb.integer("counter") >= 1000
    gdb.run("undo 2")
    assert gdb.state()["at_start"]


def test_bisect_does_not_read_debug_information_for_a_name_that_gdb_knows(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("RDB_TRACE", "rsp")
    monkeypatch.setenv("RDB_TRACE_FILE", str(trace))
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        gdb.run("bisect counter < 1000")
        assert "qRdb.bisect-start" in trace.read_text() and "qRdb.lacks" not in trace.read_text()
        assert "No symbol" in gdb.fails("bisect nowhere < 1000")
        assert "qRdb.lacks" in trace.read_text()


def test_bisect_of_several_edges(gdb: Gdb, recorded: Recorded) -> None:
    first = json.loads(gdb.run("bisect good --json"))
    assert (first["before"], first["after"]) == ("1", "0")
    assert f"reverse.c:{first['line']}" in (recorded.at("bad-1"), recorded.at("bad-2"))
    last = json.loads(gdb.run("bisect --last good --json"))
    assert f"reverse.c:{last['line']}" == recorded.at("bad-2")
    assert (last["rank"], last["function"]) == (0, "alternate")
    gdb.expect_at(recorded.at("bad-2"))
    assert gdb.value("good") == "1"


def test_bisect_refuses_what_has_no_edge(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    before = gdb.state()
    assert "false at the start" in gdb.fails("bisect stages < 0")
    at_end = gdb.fails("bisect stages >= 0")
    assert "still true at the end" in at_end
    assert gdb.fails("bisect stages >= 0 --to 999999") == at_end
    assert "there is no event 999999" in gdb.fails("bisect stages >= 0 --from 999999")
    missing = 'No symbol "nosuch" in current context: the program has no variable and no function'
    assert missing in gdb.fails("bisect nosuch")
    for wrong in ("good +", "nosuch >", "nosuch > nosuch2 &&", "all(nosuch > 0"):
        assert "syntax error" in gdb.fails(f"bisect {wrong}")
    assert missing in gdb.fails("bisect (double) nosuch > 0")
    assert "Usage" in gdb.fails("bisect")
    assert gdb.state() == before


def test_what_if(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-fact")
    before = gdb.registers()
    gdb.run("set var stages = 40")
    assert gdb.state()["branch"]
    assert "branch" in gdb.run("when")
    gdb.run("next")
    assert gdb.integer("stages") == 41
    gdb.run("undo")
    assert gdb.state()["branch"] and gdb.integer("stages") == 40
    gdb.run("undo")
    assert not gdb.state()["branch"]
    assert (gdb.registers(), gdb.integer("stages")) == (before, 0)
    assert gdb.run("print fact(4)") == "$1 = 24\n"
    assert gdb.state()["branch"]
    gdb.run("undo")
    assert (gdb.registers(), gdb.state()["branch"]) == (before, False)
    gdb.run("redo")
    assert gdb.state()["branch"]


def test_output_of_gdb_itself_still_works(gdb: Gdb) -> None:
    assert gdb.run("output/x 255") == "0xff"
    assert gdb.run("output good") == "1"


def test_history_lists_what_was_done(gdb: Gdb, recorded: Recorded) -> None:
    assert gdb.run("history") == "No commands yet.\n"
    gdb.run("break files")
    gdb.run("continue")
    gdb.run("rdb-state --command continue")
    gdb.run("undo")
    lines = gdb.run("history").splitlines()
    assert len(lines) == 2
    assert "continue" in lines[1] and lines[1].endswith("(undone)")


def test_a_driver_makes_one_entry_of_one_command(gdb: Gdb, recorded: Recorded) -> None:
    for name in ("tick", "main-fact", "qsort"):
        gdb.run(f"break {recorded.at(name)}")
        gdb.run("rdb-state --command break")
    gdb.run("delete")
    gdb.run("rdb-state --command delete")
    assert gdb.state()["history"] == 4
    gdb.run("undo")
    assert len(gdb.breakpoints()) == 3


def test_without_a_recording_it_says_so() -> None:
    with Gdb() as gdb:
        for command in ("undo", "when", "goto 3", "last x", "bisect x", "rdb-state", "output"):
            assert "rdb-open JOB" in gdb.fails(command), command


def test_opening_what_is_not_there(recorded: Recorded) -> None:
    with Gdb(home=recorded.home) as gdb:
        assert "no job 'nosuch'" in gdb.fails("rdb-open nosuch")
        assert "no rank 7" in gdb.fails("rdb-open job 7")
        assert "Usage" in gdb.fails("rdb-open")
        assert "Opened job" in gdb.run("rdb-open job")
        assert gdb.state()["at_start"]


def test_detaching_ends_the_server(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        assert children(gdb.pid)
        assert "detached" in gdb.run("detach")
        assert "rdb-open JOB" in gdb.fails("when")


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def test_two_sessions_on_one_recording(recorded: Recorded) -> None:
    with recorded.gdb() as one, recorded.gdb() as two:
        go(one, recorded, "after-fact")
        two.run("goto END")
        one.run("set var stages = 9")
        two.run("reverse-stepi")
        one.run("undo")
        one.expect_at(recorded.at("after-fact"))
        assert one.integer("stages") == 0
        assert two.state()["event"] > 5


def test_at_a_prompt_the_history_has_the_typed_commands(recorded: Recorded) -> None:
    """Typed into a terminal; Ctrl-C in a long motion leaves everything as it was."""
    environment = {**os.environ, "RDB_HOME": str(recorded.home), "TERM": "dumb"}
    gdb = pexpect.spawn(
        "gdb",
        ["-nx", "-q", "-x", str(SCRIPT)],
        env=environment,
        encoding="utf-8",
        timeout=DEADLINE_S,
    )

    def run(command: str) -> str:
        gdb.sendline(command)
        gdb.expect_exact("(gdb) ")
        return str(gdb.before).partition("\n")[2].replace("\r", "")

    try:
        gdb.expect_exact("(gdb) ")
        run("set pagination off")
        run("set confirm off")
        assert "Opened job" in run("rdb-open job")
        run("break tick if i == 10")
        run("continue")
        run("display counter")
        run("next 2")
        texts = [
            line.split(maxsplit=1)[1] for line in run("history").replace("=>", "").splitlines()
        ]
        assert [text.split("  ")[0] for text in texts] == [
            "break tick if i == 10",
            "continue",
            "display counter",
            "next 2",
        ]
        assert "Undid" not in run("undo")
        assert "Undid: display counter" in run("undo")
        run("set var counter = 1")
        assert "set var counter = 1" in run("history")
        run("undo")
        assert "= 45" in run("print counter")
        gdb.sendline("quit")
        gdb.expect(pexpect.EOF)
    finally:
        hang_up(gdb)


def test_a_script_ends_with_its_own_code(recorded: Recorded, tmp_path: Path) -> None:
    """`gdb -batch` with the extension and a script, as in a pipeline."""
    script = tmp_path / "script"
    script.write_text("rdb-open job\nbreak files\ncontinue\nundo\nhistory\n")
    done = deadlines.run(
        ["gdb", "-nx", "-batch", "-x", str(SCRIPT), "-x", str(script)],
        120,
        env={**os.environ, "RDB_HOME": str(recorded.home)},
    )
    assert done.returncode == 0, done.stderr
    assert "break files" in done.stdout and "(undone)" in done.stdout


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (("break tick", "continue", "delete 1", "undo"), "Breakpoint 2: tick is back (it was 1)."),
        (("last $boom(1)",), "Error occurred in Python: boom!"),
        (("changes $boom(1)",), "Error occurred in Python: boom!"),
    ],
)
def test_no_command_prints_an_exception_of_python(
    recorded: Recorded, commands: tuple[str, ...], said: str
) -> None:
    """Of rdb's own, or of a function of the user's before the error that says it."""
    rdb = Path(sys.executable).parent / "rdb"
    boom = (
        'python gdb.Boom = type("Boom", (gdb.Function,), '
        '{"invoke": lambda self, one: exec("raise ValueError(\'boom!\')")}); gdb.Boom("boom")'
    )
    lines = ("rdb-open job", boom, *commands)
    done = deadlines.run(
        ["gdb", "-nx", "-q", "-batch", "-x", SCRIPT, *(f"-ex={line}" for line in lines)],
        DEADLINE_S,
        env={**os.environ, "RDB_HOME": str(recorded.home), "RDB_EXECUTABLE": str(rdb)},
    )
    assert said in done.stdout + done.stderr
    assert "Python Exception" not in done.stdout + done.stderr
