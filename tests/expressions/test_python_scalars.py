"""Scalars of a Python program by their names: each is what the program itself said that it was."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_rdb
from gdbdriver import Gdb, GdbError, in_console

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "python" / "scalars.py"
PYTHON = sys.executable
PLAIN = [
    *("calls", "label", "energy", "n", "big", "small", "z", "warm", "single", "pair", "np", "main"),
    *("self", "self.x", "self.residual", "self.state", "self.done", "self.slot.w", "self.cells"),
    *("self.history[-1]", "table['k']", "table[3]", "table['none']", "pair[1][0]", "pair[1][1]"),
    *("texts", "texts[n % 2]", "len(texts)", "len(table)", "len(label)", "len(pair[1])"),
    *("len(self.history)", "z.real", "z.imag", "abs(z)", "self.nothing", "nowhere", "texts[9]"),
    *("recent[0]", "recent[-1]", "recent[1]", "recent[14]", "recent[78]", "recent[149]"),
    *("recent[-150]", "recent[150]", "len(recent)"),
    *("State.IDLE is self.state", "State.BUSY == self.state", "self.residual is None"),
    *("table['none'] is None", "table['none'] == 0", "big < 3**100", "big % 1000", "n < big"),
    *("0 < n < 11", "n / 2", "n // 2", "-n // 2", "n % -4", "not n", "n and label", "n or label"),
    *("label == 'later'", "label != \"later\"", "label < 'z'", "math.isnan(energy)", "1 / n"),
    *("int(energy)", "bool(texts)", "float(n)", "~n", "n << 3", "n ** 400", "2 ** -n", "-(n)"),
    *("table['none'] < 3", "label + 1", "n == 4 or nowhere"),
]  # fmt: skip
ATOMS = ("n", "small", "calls", "energy", "big", "self.x", "self.done", "2", "0.5", "len(label)")
SIGNS = ("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or", "&", "|")


def generated(draw: random.Random, depth: int = 3) -> str:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(ATOMS)
    if draw.random() < 0.2:
        return f"({draw.choice(('-', 'not '))}({generated(draw, depth - 1)}))"
    sign = draw.choice(SIGNS)
    return f"({generated(draw, depth - 1)} {sign} {generated(draw, depth - 1)})"


EXPRESSIONS = [*PLAIN, *(generated(random.Random(seed)) for seed in range(4))]


def line_of(text: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[list[str]]]]:
    """Where, and what the program said of the expressions."""
    folder = tmp_path_factory.mktemp("scalars")
    (folder / "expressions").write_text(json.dumps(EXPRESSIONS))
    command = ["--", PYTHON, PROGRAM, folder / "expressions"]
    done = run_rdb(folder / "home", folder, "run", "--name", "job", *command)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    return folder / "home", said


@pytest.fixture(scope="module")
def gdb(recorded: tuple[Path, list[list[list[str]]]]) -> Iterator[Gdb]:
    with Gdb("job", home=recorded[0]) as opened:
        yield opened


def seen(gdb: Gdb, expression: str) -> list[str]:
    try:
        text, number, *_ = json.loads(gdb.run(f"rdb-number {expression}"))
    except GdbError:
        return ["error", ""]
    return ["text", json.loads(text)] if number is None else ["number", repr(float(number))]


@pytest.mark.slow
def test_as_the_program_said(recorded: tuple[Path, list[list[list[str]]]], gdb: Gdb) -> None:
    gdb.run("goto start")
    assert "error" in seen(gdb, "calls"), "no code of the program runs yet"
    gdb.run("break getppid")
    assert len(recorded[1]) == 2
    for said in recorded[1]:
        gdb.run("continue")
        found = [seen(gdb, expression) for expression in EXPRESSIONS]
        rows = zip(EXPRESSIONS, found, said, strict=True)
        assert [row for row in rows if row[1] != row[2]] == []
    gdb.run("delete")


SIGNS_OF_C = [
    ("main::energy < 0 || !(n == 10)", 0),
    ("Solver.advance::n + $two", 12),
    ("!n == 0", 1),  # as in C: (!n) == 0
    ("self.x > 1 && calls == 10", 1),
]
NO_NUMBERS = [
    ("big", "too large for GDB: compare it"),
    ("table['none'] + 1", "table['none'] is None"),
    ("z", "z is complex: write abs(z), z.real or z.imag"),
    (
        "self.history",
        "self.history is a list of 11 items: write self.history[0], len(self.history)",
    ),
    ("table > 3", "table is a dict of 3 items: write table['KEY'], len(table)"),
    ("self > 3", "self is a Solver, not a number"),
    ("json", "json is a module: write json.NAME"),
    ("main", "main is a function"),
    ("self.nothing", "a Solver has no attribute nothing in memory"),
    ("self.half", "half cannot be read: the program's own code computes it"),
    ("os.getpid()", "os.getpid() cannot be read: the program's own code computes it"),
    ("nowhere", 'No variable "nowhere" in Python here: Solver.advance, main, <module> runs'),
    ("1 / small.imag", "division by zero"),
    ("n ** (10 ** 9)", "too large"),
]


def test_signs_of_c_and_what_is_no_number(gdb: Gdb) -> None:
    gdb.run("set $two = 2")
    gdb.run("goto start")
    gdb.run("rdb-meant tbreak getppid if calls == 10")
    gdb.run("continue")
    for expression, value in SIGNS_OF_C:
        assert seen(gdb, expression) == ["number", f"{value}.0"], expression
    for expression, reason in NO_NUMBERS:
        assert reason in gdb.fails(f"rdb-number {expression}")


BISECTED = [
    ("main::energy < 1e5", "main", "energy = solver.advance("),
]


@pytest.mark.slow
@pytest.mark.parametrize(("expression", "function", "line"), BISECTED)
def test_bisect_names_the_statement(gdb: Gdb, expression: str, function: str, line: str) -> None:
    gdb.run("goto start")
    found = json.loads(gdb.run(f"bisect {expression} --json").splitlines()[0])
    at = json.loads(gdb.run("rdb-asked").splitlines()[0])["own"]
    assert (at["function"], at["line"]) == (function, line_of(line)), found
    assert found["before_true"] and found["after_false"] and not found["gap"]


def test_what_never_is_a_number_is_refused_soon(gdb: Gdb) -> None:
    gdb.run("goto start")
    gdb.run(
        "python from rdb_gdb.state import place; rdb_seeks = []; rdb_seek = place.seek; "
        "place.seek = lambda *of: rdb_seeks.append(of) or rdb_seek(*of)"
    )
    said = gdb.fails("bisect texts")
    assert (
        said
        == "texts is a list of 2 items: write texts[0], len(texts) (at every position looked at)"
    )
    assert int(gdb.run("python place.seek = rdb_seek; print(len(rdb_seeks))")) < 25


def test_in_the_console(recorded: tuple[Path, list[list[list[str]]]]) -> None:
    lines = [
        "goto start",
        "tbreak getppid if calls == 10",
        "continue",
        "print label",
        "watch main::solver.x > 3.5",
        "continue",
        "defset many calls > 9",
        "print --stats calls",
        "display table['k']",
        "last calls",
    ]
    said = in_console(recorded[0], "job", lines)
    assert "calls of module __main__, scalars.py" in said[2]
    assert '= "start"' in said[3] or '= "later"' in said[3]
    assert f"Solver.advance () at scalars.py:{line_of('self.x = self.x')}" in said[5], said[5]
    assert "Watchpoint 2: main::solver.x > 3.5" in said[5]
    assert said[6].startswith("many: 0") and "12" in said[7]
    assert "table['k'] = -0.5" in said[8], said[8]
    assert "calls is a Python variable; use bisect or watch to find its changes" in said[9]
