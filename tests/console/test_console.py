"""The console: driven through a pseudo-terminal, by a script, by a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import deadlines
import pexpect  # type: ignore[import-untyped]
import pytest
from terminal import DEADLINE_S, Terminal, ended, hang_up, rdb

from rdb.commands.gdb_table import extension_commands
from rdb.commands.table import REGISTRY
from rdb.console.lines import LineReader
from rdb.session.processes import Process, descendants

# ---- lines ----


def test_lines_become_commands() -> None:
    reader = LineReader()
    assert reader.feed("  next  ") == "next"
    assert reader.feed("# said to people") is None
    assert reader.feed("") == ""
    assert reader.feed("python print(1)") == "python print(1)"
    assert reader.depth == 0


@pytest.mark.parametrize(
    "block",
    [
        "commands 2\nsilent\nprint x\nend",
        "define both\nif 1\nnext\nend\nend",
        "python\nif True:\n  print(1)\nend",
        "if x\nwhile y\nstep\nend\nelse\nnext\nend",
    ],
)
def test_a_block_is_one_command(block: str) -> None:
    reader = LineReader()
    *inner, last = block.splitlines()
    assert all(reader.feed(line) is None for line in inner)
    assert reader.depth > 0
    assert reader.feed(last) == block
    assert reader.depth == 0


# ---- a recorded job of three ranks, and one that computes long ----

LONG = r"""
#include <unistd.h>
volatile unsigned long turns;
int main(void)
{
	getppid();
	for (unsigned long i = 0; i < 400000000ul; i++)
		turns = turns + i;
	getppid();
	return 0;
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("home")
    long = tmp_path_factory.mktemp("program") / "long"
    source = long.with_suffix(".c")
    source.write_text(LONG)
    subprocess.run(["gcc", "-g", "-O0", "-o", long, source], check=True)
    # the exit code of a rank is that of mpirun since Open MPI 5
    jobs: tuple[tuple[list[str | Path], tuple[int, ...]], ...] = (
        (["--name", "relay", "-n", "3", "--", build("mpi/relay.c", "-O0")], (0, 3)),
        (["--name", "long", "--", long], (0,)),
    )
    for arguments, codes in jobs:
        done = rdb(folder, "run", *arguments)
        assert done.returncode in codes, done.stderr
    return folder


@pytest.fixture
def console(home: Path) -> Iterator[Callable[[str], Terminal]]:
    made: list[Terminal] = []

    def attach(job: str) -> Terminal:
        made.append(Terminal(home, job))
        return made[-1]

    yield attach
    for terminal in made:
        hang_up(terminal.child)


def wait_gone(processes: list[Process]) -> None:
    deadline = deadlines.Deadline(DEADLINE_S)
    while any(process.alive for process in processes):
        assert not deadline.over(), "processes were left behind"
        time.sleep(0.01)


def test_a_session_on_a_terminal(console: Callable[[str], Terminal], home: Path) -> None:
    terminal = console("relay")
    start = terminal.until("relay [0-2] end>")
    rows = [line.split() for line in start.splitlines() if line.startswith("*")]
    assert [row[:4] for row in rows] == [
        ["*", "0", "exited", "0"],
        ["*", "1", "exited", "0"],
        ["*", "2", "exited", "3"],
    ]

    # Both a name of the registry and one of GDB's are completed.
    terminal.child.send("foc\t")
    terminal.until("us\x1b")  # the line editor writes what is new
    shown = terminal.type(" 1-2", "relay [1-2] end>")
    assert "focus: 1-2 (2 of 3)" in shown
    terminal.child.send("info breakp\t")
    terminal.until("oints\x1b")
    shown = terminal.type("", "relay [1-2] end>")
    # GDB 16 names tracepoints and catchpoints, too.
    assert "1-2: No breakpoints" in shown

    shown = terminal.type("print rank", "relay [1-2] end>")
    assert "1: $1 = 1" in shown and "2: $1 = 2" in shown
    terminal.type("goto start", "relay [1-2] start>")
    terminal.type("break turn", "relay [1-2] start>")
    shown = terminal.type("continue", "relay [1-2]")
    assert "[1-2] turn (round=0)" in shown or "[1-2] turn ()" in shown
    first = terminal.type("next", "relay [1-2]")
    second = terminal.type("", "relay [1-2]")  # an empty line: once more
    assert _line(first) < _line(second)
    shown = terminal.type("undo", "relay [1-2]")
    assert "undid next in 1-2" in shown
    assert _line(shown) == _line(first)

    # Ctrl-C at the prompt drops the line; Ctrl-D leaves.
    terminal.child.send("nonsense")
    terminal.until("nonsense")
    terminal.child.send("\x03")
    terminal.until("relay [1-2]")
    below = terminal.below()
    assert len(below) >= 6
    terminal.child.send("\x04")
    assert ended(terminal.child) == 0
    wait_gone(below)

    kept = home / "console_history"
    assert "+print rank" in kept.read_text() and "nonsense" not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def _line(shown: str) -> int:
    """The line in which `[1-2] turn () at relay.c:24` says that the ranks stand."""
    found = re.findall(r"\] turn \(\) at relay\.c:(\d+)", shown)
    assert found, shown
    return int(found[-1])


def test_ctrl_c_stops_what_runs(console: Callable[[str], Terminal]) -> None:
    terminal = console("long")
    terminal.until("long [0] end>")
    terminal.type("goto start", "long [0] start>")
    # A line's number is one of the program's file, though the end was seen in the C library's.
    shown = terminal.type("break 8 if i == 399999999", "long [0] start>")
    assert "long.c, line 8." in shown
    terminal.start("continue")
    server = next(p for p in terminal.below() if "serve" in _command(p))
    _until_working([p for p in descendants(server.pid)])
    terminal.child.send("\x03")
    # A motion that is interrupted leaves the rank where it stood.
    shown = terminal.until("long [0] start>")
    assert "received signal SIGINT" in shown
    shown = terminal.type("print turns", "long [0] start>")
    assert "0: $1 = 0" in shown

    for line in ("python", "while True: pass", "end"):
        terminal.start(line)
    gdb = next(p for p in terminal.below() if "--interpreter=mi3" in _command(p))
    _until_working([gdb])
    terminal.child.send("\x03")
    terminal.until("error:")
    terminal.until("long [0] ")
    shown = terminal.type("print 6 * 7", "long [0] ")
    assert "0: $2 = 42" in shown


def _command(process: Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except FileNotFoundError:
        return ""


def _until_working(processes: list[Process]) -> None:
    """Waits until one of them has used a tenth of a second more of the processor."""
    ticks = os.sysconf("SC_CLK_TCK") // 10
    before = {process: _ticks(process) for process in processes}
    deadline = deadlines.Deadline(DEADLINE_S)
    while not any(_ticks(process) >= used + ticks for process, used in before.items()):
        assert not deadline.over()
        time.sleep(0.01)


def _ticks(process: Process) -> int:
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = text.rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_a_hang_up_leaves_nothing_behind(console: Callable[[str], Terminal]) -> None:
    terminal = console("relay")
    terminal.until("relay [0-2] end>")
    below = terminal.below()
    assert len(below) >= 6
    terminal.child.kill(signal.SIGHUP)
    terminal.child.expect(pexpect.EOF)
    wait_gone(below)


# ---- without a terminal ----


def test_a_script_is_a_transcript(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        "# where everybody is\n"
        "print rank * 0\n"
        "focus 2\n"
        "print spoiled\n"
        "undo\n"
        "goto start\n"
        "break relay if turn == 5\n"
        "continue\n"
        "where\n"
        "focus 1\n"
        "up\n"
        "print got\n"
        "history\n"
    )
    done = rdb(home, "attach", "relay", "-x", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    out = done.stdout
    assert "relay [0-2] end> print rank * 0\n0-2: $1 = 0\n" in out
    assert "relay [2] end> print spoiled\n2: $2 = 3\n" in out
    assert "relay [2] end> undo\nundid focus 2\n" in out
    assert "relay [0-2] end> goto start\n" in out
    assert "[1] relay () at relay.c:" in out
    assert re.search(r"^ *1: relay \(\) at relay\.c:\d+$", out, re.MULTILINE)
    assert re.search(r"^1: \$\d+ = 6$", out, re.MULTILINE)
    assert re.search(r"^4 +0-2 +end +start +goto start$", out, re.MULTILINE)
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line != line.rstrip()]


def test_a_failed_command_makes_the_exit_code_1(home: Path) -> None:
    done = rdb(home, "attach", "relay", given="print nowhere\nundo\nfocus 9\nprint 40 + 2\n")
    assert done.returncode == 1
    assert '0-2: error: No symbol "nowhere" in current context.' in done.stdout
    assert "error: nothing to undo" in done.stdout
    assert "error: there is no rank 9; ranks are 0-2" in done.stdout
    assert "0-2: $1 = 42" in done.stdout  # the ones after a failure still run


def test_an_unfinished_block_is_a_failure(home: Path) -> None:
    done = rdb(home, "attach", "long", given="if 1\nprint 1\n")
    assert done.returncode == 1
    assert "error: `if 1` has no `end`" in done.stdout


def test_quit_ends_a_script(home: Path) -> None:
    done = rdb(home, "attach", "long", given="print 1\nquit\nprint 2\n")
    assert done.returncode == 0
    assert "$1 = 1" in done.stdout and "print 2" not in done.stdout


def test_a_missing_script_is_one_line(home: Path) -> None:
    done = rdb(home, "attach", "long", "-x", "/nonexistent/script")
    assert done.returncode == 2
    assert done.stderr == "rdb: cannot read /nonexistent/script: No such file or directory\n"
    assert done.stdout == ""


def test_every_command_of_the_help_explains_itself(home: Path) -> None:
    done = rdb(home, "attach", "long", given="help\nhelp undo\nhelp next\nranks\ninfo job\n")
    assert done.returncode == 0, done.stdout
    assert "usage: undo [COUNT | --to BOOKMARK]" in done.stdout
    listed = done.stdout.partition("> help undo")[0]
    for command in REGISTRY.commands:
        assert f"  {command.usage} " in listed, command.name
    for name in extension_commands():
        assert re.search(rf"^  {name} ", listed, re.MULTILINE), name
    assert "Step program, proceeding through subroutine calls." in done.stdout
    assert re.search(r"^\* +0 +exited 0 ", done.stdout, re.MULTILINE)
    assert re.search(r"^launcher +none$", done.stdout, re.MULTILINE)


# ---- rdb bisect ----


def test_bisect_prints_the_answer(home: Path) -> None:
    done = rdb(home, "bisect", "relay", "spoiled == 0", "--rank", "2")
    assert done.returncode == 0, done.stderr
    # How far it is, if it takes long.
    assert re.fullmatch(r"(rdb: bisect: rank 2 \d+% after \d+ s\n)*", done.stderr), done.stderr
    assert "spoiled == 0 first turned false in rank 2" in done.stdout
    assert "in turn: spoiled++;" in done.stdout
    assert "(verified true)" in done.stdout and "(verified false)" in done.stdout
    assert "last message before: from rank 1, tag 7, 4 bytes" in done.stdout


@pytest.mark.slow
def test_ranks_that_one_statement_made_false_share_an_answer(home: Path) -> None:
    """One answer is whole, the others have a line each: all ranks store `number` at one place."""
    shell = rdb(home, "bisect", "relay", "number < 5")
    assert shell.returncode == 0, shell.stderr
    assert shell.stdout.count("in turn: number = ") == 1
    assert re.findall(r"^rank (\d), at ", shell.stdout, re.MULTILINE) == ["0"]
    likewise = r"^likewise in rank (\d), at \S+, recorded .*$"
    assert re.findall(likewise, shell.stdout, re.MULTILINE) == ["1", "2"]
    session = rdb(home, "attach", "relay", given="bisect number < 5\nprint number\n")
    assert session.returncode == 0, session.stderr
    assert session.stdout.count("Changed by relay.c:") == 1
    likewise = r"^likewise in rank (\d), at \S+$"
    assert re.findall(likewise, session.stdout, re.MULTILINE) == ["1", "2"]
    assert re.search(r"^0-2: \$\d+ = 4$", session.stdout, re.MULTILINE)


# ---- searches over ranks ----


def test_searches_in_all_ranks(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "searches.rdb"
    script.write_text(
        "find-event mpi.recv source==1 and tag==7 --count\n"
        "focus 2\nchanges number\nbisect got >= 0\n"
    )
    done = rdb(home, "attach", "relay", "-x", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0-1: 0 events" in done.stdout and "2: 8 events" in done.stdout
    assert "8 changes" in done.stdout
    # The GDB extension names the message too, not just `rdb bisect`.
    assert "The message that wrote it: from rank 1, tag 7, 4 bytes" in done.stdout


def test_find_event_over_all_ranks(home: Path) -> None:
    done = rdb(home, "find-event", "relay", "receive source==1", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["rank"] for row in json.loads(done.stdout)] == [2] * 8


@pytest.mark.slow
def test_where_typed_lines_cannot_be_kept_it_says_so(
    console: Callable[[str], Terminal], home: Path
) -> None:
    """As on a file system that is read-only: a directory is in the way of the file."""
    kept = home / "console_history"
    kept.unlink(missing_ok=True)
    kept.mkdir()
    terminal = console("relay")
    said = terminal.until("relay [0-2]")
    assert f"{kept}: Is a directory: the command history is not saved" in said.replace("\n", "")
    kept.rmdir()
    terminal = console("relay")
    terminal.until("relay [0-2]")
    terminal.type("focus 1", "relay [1]")
    kept.unlink()
    kept.mkdir()
    said = terminal.type("focus 2", "relay [2]")
    assert said.replace("\n", "").count("the command history is not saved") == 1
    assert "not saved" not in terminal.type("when", "relay [2]")
    kept.rmdir()
