"""What users of GDB type into the console, and what must not end the session."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from terminal import rdb

from rdb.console.refused import refuse
from rdb.errors import Usage

PROGRAM = r"""
#include <unistd.h>
static char large[1 << 17];
struct pair { int first, second; } pair;
int main(void)
{
	getppid();
	large[70000] = 5; /* written */
	pair.second = 3;
	getppid();
	return 0;
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    program = tmp_path_factory.mktemp("program") / "large"
    source = program.with_suffix(".c")
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", program, source], check=True)
    done = rdb(folder, "run", "--name", "large", "--", str(program))
    assert done.returncode == 0, done.stderr
    return folder


def answers(home: Path, *commands: str) -> list[str]:
    """What a console says to each of them."""
    said = rdb(home, "attach", "large", given="\n".join(commands) + "\n").stdout
    found = []
    for command in commands:
        _, _, said = said.partition(f"> {command}\n")
        found.append(said.partition("large [0]")[0])
    return found


def test_commands_that_would_end_the_session_are_refused(home: Path) -> None:
    killed, explored, after, changed, gone = answers(
        home, "kill", "python print(input())", "print 40 + 2", "changes large", "origin large"
    )
    assert "`kill` would end" in killed and "`quit`" in killed
    assert "asks questions" in explored
    assert "= 42" in after, "an answer was taken from GDB's next command"
    assert "<131,072 bytes>" in changed and "1 change" in changed
    assert "computed" in gone


def test_what_only_a_process_has_is_refused(home: Path) -> None:
    asked, core, listed = answers(home, "info proc status", "gcore", "info files")
    assert "`info proc` asks about a process" in asked and "`info proc mappings`" in asked
    assert "`gcore` cannot make a core file of a recording; `rdb pack JOB`" in core
    assert " is .text" in listed


def test_mappings(home: Path) -> None:
    """Where the rank stands: the C library is not there at the start."""
    at_end, at_start = (
        text.splitlines()[1:]
        for text in answers(home, "i proc map", "goto start", "i proc map")[::2]
    )
    assert at_end[0].split() == ["Start", "Addr", "End", "Addr", "Size", "Perms", "objfile"]
    rows = [line.split() for line in at_end[1:]]
    places = [(int(start, 16), int(end, 16)) for start, end, *_ in rows]
    assert places == sorted(places) and all(start < end for start, end in places)
    assert all(
        int(row[2], 16) == end - start for row, (start, end) in zip(rows, places, strict=True)
    )
    assert any(row[3:] == ["rw-p", "[stack]"] for row in rows)
    assert any(row[3] == "r-xp" and row[4:] and row[4].endswith("/large") for row in rows)
    assert any(row[3] == "r-xp" and row[4:] and row[4].endswith("libc.so.6") for row in rows)
    assert at_start[0] == at_end[0] and any("/large" in line for line in at_start)


def test_files_that_gdb_reads_are_not_listed(home: Path) -> None:
    """It says so of each file that it reads through the server."""
    (said,) = answers(home, "set sysroot target:/")
    assert "remote target" not in said


def test_catchpoints_are_undone(home: Path) -> None:
    *_, deleted, undone, left, again, none = answers(
        home,
        "run",
        "catch load nosuch",
        "condition 1 1 == 1",  # of no place: GDB does not survive to be asked about it
        "delete",
        "undo",
        "info breakpoints",
        "undo 2",
        "info watchpoints",
    )
    assert not deleted
    assert "undid delete" in undone and "load nosuch is back (it was 1)" in undone
    assert "load of library matching nosuch" in left and "stop only if 1 == 1" in left
    assert "undid catch load nosuch" in again and "undid run" not in again
    assert "No watchpoints" in none


def test_start_goes_to_main(home: Path) -> None:
    started, undone, first = answers(home, "start", "undo", "starti")
    assert "main () at large.c:7" in started and "disappeared" not in started
    assert "undid start" in undone and "end of the recording" in undone
    assert "start of the recording" in first


def test_start_without_symbols_says_so_in_a_line(home: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["gcc", "-s", "-xc", "-o", stripped, "-"], input=PROGRAM, text=True, check=True)
    assert rdb(home, "run", "--name", "stripped", "--", str(stripped)).returncode == 0
    said = rdb(home, "attach", "stripped", given="start\nwhen\n").stdout
    told = said.partition("> start\n")[2].partition("stripped [0]")[0]
    assert told.splitlines() == [
        "0: error: The program's symbols have no main; `starti` goes to the start of the recording."
    ]


def test_who_records_a_launcher_is_told(home: Path, tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\ntrue\n")
    launcher.chmod(0o755)
    assert "rdb run -n N -- PROG" in rdb(home, "run", "--", str(launcher)).stderr
    assert "rdb run -n N" not in rdb(home, "run", "--", str(launcher), "rdb", "exec").stderr


@pytest.mark.parametrize(
    "line", ["k", "kill inferiors 1", "det", "disc", "at 1", "tar rem :1", "catch sys 1"]
)
def test_short_forms_of_them_are_refused(line: str) -> None:
    with pytest.raises(Usage):
        refuse(line)


@pytest.mark.parametrize(
    "line", ["", "tbreak f", "detour", "disable 1", "disassemble", "catch throw", "catch signal"]
)
def test_others_are_not(line: str) -> None:
    refuse(line)


LIBRARY = r"""
#include <map>
#include <string>
#include <unistd.h>
#include <vector>
int main()
{
	std::map<std::string, std::vector<int>> parts;
	parts["wheel"] = {1, 2};
	return getppid() == 0; /* parts */
}
"""


def test_values_of_the_cxx_library_are_shown_as_gdb_shows_them(home: Path, tmp_path: Path) -> None:
    program = tmp_path / "parts"
    subprocess.run(
        ["g++", "-g", "-O0", "-xc++", "-o", program, "-"], input=LIBRARY, text=True, check=True
    )
    assert rdb(home, "run", "--name", "parts", "--", str(program)).returncode == 0
    said = rdb(home, "attach", "parts", given="start\nbreak 10\ncontinue\nprint parts\n").stdout
    assert 'std::map with 1 element = {["wheel"] = std::vector of length 2,' in said, said
