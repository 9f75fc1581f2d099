"""The variable that was meant, in each command that takes an expression: never a library's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded
from test_own_frame import console

SOURCE = PROGRAMS / "names_of_libraries.c"
CLASH = PROGRAMS / "fortran" / "clash.f90"
# Name -> its value where work(2) has written for the first time.
NAMES = {"data[3]": "2", "y1": "1", "index": "2", "environ": "4", "buf[0]": "121 'y'"}
NO_SUCH = r'No symbol "\w+" in (the program\'s own code: \S+ has one|current context)'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    program = build("names_of_libraries.c", "-O0", "-Wl,--no-as-needed", "-lm")
    return Recorded(tmp_path_factory.mktemp("names"), program, SOURCE)


def in_write(gdb: Gdb) -> Gdb:
    """Inside write, called by work(2)."""
    gdb.run("tbreak work if n == 2")
    gdb.run("continue")
    gdb.run("tbreak write")
    gdb.run("continue")
    return gdb


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield in_write(opened)


@pytest.fixture(scope="module")
def there(recorded: Recorded) -> Iterator[Gdb]:
    """For tests that only look."""
    with recorded.gdb() as opened:
        yield in_write(opened)


@pytest.fixture(scope="module")
def at_the_end(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        opened.run("goto end")
        yield opened


def variable(name: str) -> str:
    plain = re.sub(r"\W.*", "", name)
    return rf"{plain} in work, names_of_libraries\.c:\d+"


@pytest.mark.parametrize("name", NAMES)
def test_where_a_library_is_called(there: Gdb, name: str) -> None:
    """As a number (defset, plot), member by member (diff), as memory (last, origin), printed."""
    text, number, variables, _ = json.loads(there.run(f"rdb-number {name}"))
    assert text == NAMES[name] and float(NAMES[name].split()[0]) == number
    assert re.fullmatch(variable(name), variables)
    members, variables, _ = json.loads(there.run(f"rdb-fields {name}"))
    assert members == [["", NAMES[name]]] and re.fullmatch(variable(name), variables)
    frame = next(n for n, one in enumerate(there.frames()) if one.get("func") == "work")
    memory = json.loads(there.run(f"rdb-object {name}"))
    there.run(f"frame {frame}")
    assert memory["address"] == there.integer(f"&{name}")
    there.run("frame 0")
    if name == "buf[0]":  # a local of the function in the selected frame is that to GDB's own
        assert there.run("rdb-meant print buf").rstrip().endswith(there.value("buf"))
        return
    assert re.search(
        rf"= {NAMES[name]}\n\({variable(name)}\)", there.run(f"rdb-meant print {name}")
    )
    assert NAMES[name] in there.run(f"rdb-meant display {name}")


def test_types_memory_and_texts(there: Gdb) -> None:
    """The other commands of GDB's that take an expression; of a type they say what GDB says."""
    for name, kind in {"y1": "double", "index": "int", "environ": "int"}.items():
        for command in ("whatis", "what", "ptype", "pt", "ptype/o"):
            said = there.run(f"rdb-meant {command} {name}")
            assert said.startswith(f"type = {kind}\n") and re.search(variable(name), said), said
    assert there.run("rdb-meant whatis double") == "type = double\n"
    assert re.match(r"0x\w+:\t4\n", there.run("rdb-meant x/dw &environ"))
    assert there.run('rdb-meant printf "%g %d\\n", y1, environ').startswith("1 4\n")
    here = there.integer("$pc")  # nothing of the program's: the selected frame
    assert f"{here:#x}" in there.run("rdb-meant x/i $pc")


def test_a_local_of_a_block_by_its_function(gdb: Gdb) -> None:
    """FUNCTION::NAME, which GDB knows of the outermost block only."""
    where = r"main::i in main, names_of_libraries\.c:34"
    text, number, said, _ = json.loads(gdb.run("rdb-number main::i"))
    assert (text, number) == ("2", 2) and re.fullmatch(where, said)
    assert re.search(rf"= 3\n\({where}\)", gdb.run("rdb-meant print main::i + 1"))
    found = gdb.run("bisect main::i < 3")
    assert re.search(where, found) and "names_of_libraries.c:34" in found, found


@pytest.mark.parametrize("name", NAMES)
def test_where_it_is_not_alive(at_the_end: Gdb, name: str) -> None:
    for command in ("rdb-number", "rdb-fields", "rdb-object", "last", "first", "changes",
                    "rdb-meant print", "rdb-meant display", "rdb-meant watch"):  # fmt: skip
        with pytest.raises(GdbError, match=NO_SUCH):
            at_the_end.run(f"{command} {name}")
    with pytest.raises(GdbError, match="No event after this one is"):
        at_the_end.run("find-event environ == 1")


@pytest.mark.parametrize("name", NAMES)
def test_a_condition_at_a_place_that_does_not_know_the_name(recorded: Recorded, name: str) -> None:
    """In a library the function that calls it has the variable; in `between` nobody has."""
    number = NAMES[name].split()[0]
    with recorded.gdb() as gdb:
        said = gdb.run(f"break write if {name} == {number}")
        if name == "buf[0]":  # write's own
            assert "rdb: the condition of 1 uses" not in said
            return
        assert "the condition of 1 uses variables of the program, not " in said
        gdb.run(f"break {recorded.at('between')} if {name} == {number}")
        said = gdb.run("continue")
        assert re.search(variable(name), said)
        gdb.run("frame function work")
        assert gdb.integer("n") == 2
        while "exits with code" not in said:
            said += gdb.run("continue")
        assert said.count("Breakpoint 1,") == 2 and "Breakpoint 2," not in said
        assert "is undefined here, so GDB does not stop: work is not running" in said


def test_a_watchpoint_stays_with_its_variable(gdb: Gdb) -> None:
    """Also where it was set, or comes back, inside a library."""
    gdb.run("tbreak work if n == 3")
    gdb.run("continue")
    gdb.run("tbreak write")
    gdb.run("continue")
    assert re.search(variable("data"), gdb.run("rdb-meant watch data[2]"))
    gdb.run("undo")
    gdb.run("redo")
    assert "New value = -1" in gdb.run("continue")
    gdb.expect_at("names_of_libraries.c:18")


def test_a_librarys_variable_that_the_program_has_not(there: Gdb) -> None:
    assert re.search(
        r"_IO_2_1_stdout_>\n\(stdout of libc\.so\.6\)", there.run("rdb-meant print stdout")
    )
    with pytest.raises(GdbError, match=NO_SUCH):
        there.run("rdb-number stdout == 0")
    assert there.run("rdb-meant print nbytes").endswith("= 1\n")


def test_print_at_gdbs_own_prompt(gdb: Gdb, recorded: Recorded) -> None:
    for name, text in NAMES.items():
        if name != "buf[0]":
            assert re.search(rf"= {text}\n\({variable(name)}\)", gdb.run(f"print {name}"))
    assert gdb.run("print/x data[3] + 30").splitlines()[0].endswith(" = 0x20")
    assert gdb.run("p $").endswith(" = 32\n")
    assert gdb.run("inspect -pretty on -- y1").splitlines()[0].endswith(" = 1")
    assert re.search(r"\(stdout of libc\.so\.6\)", gdb.run("print stdout"))
    assert gdb.run("print $unset") == gdb.run("rdb-meant print $unset") == "void\n"
    assert gdb.run("call $unset") == ""
    assert gdb.fails("print no_such_name") == 'No symbol "no_such_name" in current context.'
    gdb.run("goto end")
    assert re.search(NO_SUCH, gdb.fails("print y1"))
    gdb.run("detach")
    assert gdb.run("print 2 * 3").endswith(" = 6\n")
    with Gdb() as plain:
        assert plain.run("print 2 * 3") == "$1 = 6\n"


def test_other_commands_at_gdbs_own_prompt(gdb: Gdb) -> None:
    """Inside a library, in its innermost frame, they mean what the program means."""
    for name, text in NAMES.items():
        if name != "buf[0]":
            assert gdb.run(f"output {name}") == text
            assert gdb.run(f"call {name}").endswith(f" = {text}\n")
            assert f": {name} = {text}\n" in gdb.run(f"display {name}")
    assert gdb.frames()[0]["func"] != "work" and gdb.fails("output n_is_nowhere")
    gdb.run("frame 0")
    assert gdb.run("rdb-meant output nbytes") == "1"  # the library's own
    gdb.run("tbreak work if n == 3")
    gdb.run("continue")
    gdb.run("tbreak write")
    gdb.run("continue")
    gdb.run("watch data[2]")
    gdb.run("undo")
    gdb.run("redo")
    assert "New value = -1" in gdb.run("continue")
    gdb.expect_at("names_of_libraries.c:18")


@pytest.mark.slow
def test_over_ranks(tmp_path: Path) -> None:
    """The console's commands name the variable, once for ranks that agree."""
    if shutil.which("mpifort.openmpi") is None:
        pytest.skip("no mpifort.openmpi: install openmpi and gfortran")
    program = tmp_path / "clash"
    subprocess.run(["mpifort.openmpi", "-g", "-O0", "-o", program, CLASH], check=True, cwd=tmp_path)
    at_end = ["print s", "plot s", "print --stats i", "defset bad s /= s", "diff s 0 1", "watch s",
              "display s", "last s"]  # fmt: skip
    stopped = ["break MPI_Barrier if s /= s", "continue", *at_end[:5], "bisect s == s"]
    at_7 = "break MPI_Barrier if steps == 40 .and. i == 7"  # names that MPI_Barrier does not know
    of_the_caller = ["goto start", at_7, "continue", "print i"]
    lines = [*at_end, "goto start", *stopped, *of_the_caller]
    said = console(tmp_path, "-n", "2", "--", str(program), lines=lines)
    answers = dict(zip(at_end, said, strict=False))
    for line, text in answers.items():
        assert re.search(NO_SUCH, text), (line, text)
    _, hit, shown, plot, figures, chosen, same, found = said[len(at_end) + 1 : -len(of_the_caller)]
    where = r"[si] in (clash::)?work, clash\.f90:1[12]"
    for text in (hit, shown, plot, figures, chosen, same, found):
        assert re.search(where, text), text
    assert "nan" in shown and "bad: 0-1 (2 of 2)" in chosen
    assert "is the same in ranks 0 and 1" in same
    assert found.count("clash.f90:17") >= 2
    assert re.search(r"= 7\b", said[-1]), said[-3:]
