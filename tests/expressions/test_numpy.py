"""Predicates over numpy's arrays, by the names that they have in a Python program."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_rdb
from gdbdriver import Gdb, in_console

PYTHON = Path(__file__).resolve().parents[1] / "programs" / "python"
PROGRAM = PYTHON / "arrays.py"


def line_of(text: str, program: Path = PROGRAM) -> int:
    lines = program.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numpy")
    done = run_rdb(folder / "home", folder, "run", "--name", "job", "--", sys.executable, PROGRAM)
    assert done.returncode == 0, done.stderr
    return folder / "home"


@pytest.fixture(scope="module")
def gdb(home: Path) -> Iterator[Gdb]:
    """In getppid, that step has called the third time."""
    with Gdb("job", home=home) as opened:
        opened.run("break getppid")
        for _ in range(3):
            opened.run("continue")
        opened.run("finish")
        yield opened


@pytest.mark.parametrize(
    ("expression", "value", "element"),
    [
        ("allfinite(u)", 1, None),
        ("all(u < 19)", 0, "u[3,1] = 19.0"),
        ("max(u)", 23, "u[3,5] = 23.0"),
        ("max(u[1:3, 0])", 12, "u[2,0] = 12.0"),
        ("max(u[-1])", 23, "u[3,5] = 23.0"),
        ("min(u[::-2, 1::3])", 7, "u[1,1] = 7.0"),
        ("max(u.T[5])", 23, "u.T[5,3] = 23.0"),
        ("max(u[1:][0])", 11, "u[1:][0,5] = 11.0"),
        ("max(abs(u - 12)) < 13", 1, "u[0,0] = 0.0"),
        ("all(u < limit)", 1, None),
        ("max(u[0] * one)", 12.5, "u[0,5] = 5.0"),
        ("all(u == grid.u)", 1, None),
        ("sum(grid.slot.v)", 6, None),
        ("max(grid.shared)", 6, "grid.shared[1] = 6"),
        ("max(grid.fields['rho'])", 1, "grid.fields['rho'][0,0] = 1.0"),
        ("max(grid.fields[7][1])", 22, "grid.fields[7][1][0,2] = 22.0"),
        ("max(everywhere[::-2])", 1, "everywhere[10] = 1.0"),
        ("sorted(everywhere)", 1, None),
        ("allfinite(z)", 1, None),
        ("max(z.imag)", 1, "z.imag[0,0] = 1.0"),
        ("allfinite(empty)", 1, None),
        ("max(main::grid.u)", 23, "main::grid.u[3,5] = 23.0"),
        ("max(u) + 1", 24, "u[3,5] = 23.0"),
        ("u.sum()", 279, None),
        ("(u < 19).all()", 0, "u[3,1] = 19.0"),
        ("np.max(u[0] ** 2)", 25, "u[0,5] = 5.0"),
        ("np.abs(z).max() > 1", 1, "z[3,5] = (23+1j)"),
        ("np.argmax(u)", 23, "u[3,5] = 23.0"),
        ("sum(u[0] // 2) + u[0].min()", 6, "u[0,0] = 0.0"),
        ("np.isnan(u).any()", 0, None),
        ("np.count_nonzero((u > 2) & ~(u > 5))", 3, None),
        *((f"max(kinds['{code}'])", 3, f"kinds['{code}'][0] = 3") for code in "bBhHiIlLqQg"),
        *((f"max(kinds['{code}'])", 3, f"kinds['{code}'][0] = 3.0") for code in "efd"),
        *((f"allfinite(kinds['{code}'])", 1, None) for code in "FDG"),
        ("count(kinds['?'])", 2, None),
    ],
)
def test_values(gdb: Gdb, expression: str, value: float, element: str | None) -> None:
    assert json.loads(gdb.run(f"rdb-number {expression}"))[1] == value
    gdb.run("python from rdb_gdb.values import predicates")
    said = gdb.run(f'python print(predicates.value({expression!r}) and ""); '
                   "print(predicates.decided())")  # fmt: skip
    assert said.splitlines()[-1] == str([] if element is None else [element])


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("max(nowhere)", 'No variable "nowhere" in Python here: step, main, <module>'),
        ("max(later)", "later has no value yet"),
        ("max(grid)", "grid is a Grid, not a numpy array"),
        ("max(grid.nothing)", "a Grid has no attribute nothing"),
        ("max(grid.computed)", "computed cannot be read: the program's own code computes it"),
        ("max(grid.fields['x'])", "it has no key 'x'"),
        ("max(u[9])", "9 is outside of axis 0 of u"),
        ("max(u[0, 0, 0])", "u has 2 dimensions"),
        ("max(masked)", "its mask is masked._mask"),
        ("max(swapped)", "not in the machine's byte order"),
        ("max(texts)", "the elements of texts are not numbers: numpy.str_"),
        ("max(fields['n'])", "the elements of fields have fields, which rdb does not read"),
        ("max(limit)", "no array"),
        ("max(u == everywhere)", "different shapes"),
        ("max(other::u)", "No variable"),
    ],
)
def test_what_cannot_be_found_says_why(gdb: Gdb, expression: str, reason: str) -> None:
    assert reason.lower() in gdb.fails(f"rdb-number {expression}").lower()


def test_the_frame_that_is_selected_and_its_callers(gdb: Gdb) -> None:
    levels = [frame for frame in gdb.frames() if frame.get("func") == "__libc_start_main_impl"]
    gdb.run(f"frame {levels[0]['level']}")  # C has called all Python below it
    assert "no Python function runs" in gdb.fails("rdb-number max(u)")
    gdb.run("frame 0")
    assert json.loads(gdb.run("rdb-number max(u)"))[1] == 23


def test_pythons_memory_is_read_once(gdb: Gdb) -> None:
    """Also a text that lies in two pages."""
    for line in (
        "from rdb_gdb.values import cpython",
        "it, asked = cpython.Interpreter(*cpython.running()), []",
        "read = it._memory",
        "it._memory = lambda at, size: asked.append(at) or read(at, size)",
        "at = (it._runtime & ~0xFFF) + 0x5FF8",  # not where it looks by itself
        "print(it.read(at, 24) == it.read(at, 8) + it.read(at + 8, 16), len(asked))",
    ):
        said = gdb.run(f"python {line}")
    assert said == "True 2\n"


def test_bisect_names_element_and_statement(home: Path) -> None:
    for name in ("grid.u", "main::grid.u"):
        done = run_rdb(home, home.parent, "bisect", "job", f"allfinite({name})", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        (found,) = json.loads(done.stdout)["found"]
        assert found["elements"] == [f"{name}[2,3] = nan"]
        assert (found["function"], found["line"]) == ("step", line_of("u[2, 3] = np.nan"))
        assert Path(found["file"]) == PROGRAM
        assert found["source_line"].startswith("u[2, 3] = np.nan")
        assert found["verified_before"] and found["verified_after"]
        assert f"grid in main, arrays.py:{line_of('def main')}" in found["variables"]


@pytest.mark.slow
def test_bisect_finds_what_lives_near_the_end(tmp_path: Path) -> None:
    """Most events are of something else: evenly spread looks miss all that matters."""
    program = tmp_path / "late.py"
    program.write_text(
        "import os\n"
        "import numpy as np\n"
        "for _ in range(20000): os.getpid()\n"
        "def late():\n"
        "    u = np.ones(5)\n"
        "    for n in range(100):\n"
        "        u[3] = np.nan if n >= 60 else n\n"
        "        os.getppid()\n"
        "late()\n"
    )
    home = tmp_path / "home"
    done = run_rdb(home, tmp_path, "run", "--name", "job", "--", sys.executable, program)
    assert done.returncode == 0, done.stderr
    done = run_rdb(home, tmp_path, "bisect", "job", "allfinite(u)", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["found"]
    assert (found["function"], found["line"]) == ("late", 7)
    assert found["elements"] == ["u[3] = nan"]


@pytest.mark.slow
def test_bisect_refuses_what_python_has_not(home: Path) -> None:
    """`nowhere` is no text in its memory; `slot` is one, of an attribute."""
    whole = "the program has no variable and no function of this name."
    for name, said in (
        ("all(nowhere > 0)", f'No variable "nowhere" in Python: {whole}'),
        ("all(slot > 0)", 'No variable "slot" in Python here: '),
        ("nowhere > 0", f'No variable "nowhere" in Python: {whole}'),
    ):
        done = run_rdb(home, home.parent, "bisect", "job", name)
        code = 1 if "slot" in name else 2
        assert done.returncode == code and said in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_in_the_console(home: Path) -> None:
    lines = [
        "goto start",
        "print allfinite(grid.u)",
        "tbreak getppid if !allfinite(grid.u)",
        "continue",
        "print allfinite(u)",
        "defset bad !allfinite(u)",
        "print --stats count(u > 5)",
        "ranks",
    ]
    said = in_console(home, "job", lines)
    assert "error" in said[1] and "Python" in said[1]
    assert said[4].rstrip().endswith("= false") or said[4].rstrip().endswith(" 0"), said[4]
    assert said[5].startswith("bad: 0") and "17" in said[6]
    assert f"step () at arrays.py:{line_of('os.getppid()')}" in said[7]


def test_at_the_end_of_one_that_was_killed(tmp_path: Path) -> None:
    """The selected frame is Python's, not the interpreter's main()."""
    program = PYTHON / "killed.py"
    run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", sys.executable, program)
    said = in_console(tmp_path, "job", ["ranks", "print max(u)"])
    assert f"turn () at killed.py:{line_of('os.kill(', program)}" in said[0], said
    assert said[1].rstrip().endswith("= 3"), said


@pytest.mark.slow
def test_the_line_that_sent(tmp_path: Path) -> None:
    program = PYTHON / "exchange.py"
    command = ["run", "--name", "job", "-n", "2", "--", sys.executable, program]
    done = run_rdb(tmp_path, tmp_path, *command)
    assert done.returncode == 0, done.stderr
    done = run_rdb(tmp_path, tmp_path, "bisect", "job", "all(got < 3)")
    sent = f"meet () at exchange.py:{line_of('comm.Isend', program)}"
    assert done.stdout.count(sent) == 2, done.stdout


@pytest.fixture(scope="module")
def rebound_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, program = tmp_path_factory.mktemp("rebound"), PYTHON / "rebound.py"
    done = run_rdb(folder / "home", folder, "run", "--name", "job", "--", sys.executable, program)
    assert done.returncode == 0, done.stderr
    return folder / "home"


@pytest.fixture(scope="module")
def rebound(rebound_home: Path) -> Iterator[Gdb]:
    with Gdb("job", home=rebound_home) as opened:
        opened.run("set $zero = 0")
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "getppid max(u) > 30",
        "getuid any(w > 60)",
        "getppid any(inner::u < 0)",
        "getppid sum(whole) > 2",
        "getppid max(box.a) > 70",
        "getppid max(held['k3']) > 20 and min(u) < 9",
    ],
)
def test_each_event_as_if_gdb_looked_there(rebound: Gdb, query: str) -> None:
    """What depends on a convenience variable GDB evaluates at every event."""
    quickly = rebound.run(f"find-event {query} --all")
    assert quickly == rebound.run(f"find-event {query} + $zero --all")
    assert int(re.findall(r"^(\d+) events", quickly, re.MULTILINE)[0]) > 0


def test_from_the_shell(rebound_home: Path, tmp_path: Path) -> None:
    asked = "getuid any(w > 60)"
    done = run_rdb(rebound_home, tmp_path, "find-event", "job", asked, "--count", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["count"] > 0
