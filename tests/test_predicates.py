"""Predicates over arrays, in every face that takes an expression, and what they name."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import Gdb, Recorded, in_console

from rdb.recording.crc32c import crc32c

PROGRAMS = Path(__file__).resolve().parent / "programs"


def number(gdb: Gdb, expression: str) -> float:
    return float(json.loads(gdb.run(f"rdb-number {expression}"))[1])


# C, over ranks.


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    program = str(build("mpi/cells.c", "-O0"))
    done = run_rdb(folder / "home", folder, "run", "--name", "cells", "-n", "2", "--", program)
    assert done.returncode == 0, done.stderr
    return folder / "home"


@pytest.fixture(scope="module")
def gdb(home: Path) -> Iterator[Gdb]:
    """Rank 1, in `update` at the end of step 3."""
    with Gdb("cells", rank=1, home=home) as opened:
        opened.run("break update if step == 4")
        opened.run("continue")
        yield opened


def line_of(place: str) -> int:
    text = (PROGRAMS / "mpi" / "cells.c").read_text().splitlines()
    return next(n for n, line in enumerate(text, 1) if f"@{place}" in line)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("allfinite(chunk.density)", 1),
        ("all(chunk.density >= 3)", 1),
        ("all(chunk.density > 3)", 0),
        ("any(chunk.density == 102)", 1),
        ("count(chunk.density > 101.5)", 1),
        ("max(chunk.density)", 102),
        ("min(chunk.density[5])", 53),
        ("max(abs(chunk.density - 60)) < 58", 1),
        ("sum(chunk.density[0])", sum(range(3, 53))),
        ("max(-chunk.density * 2 + 1)", -5),
        ("max((chunk.density - 3) / 3)", 33),
        ("all(chunk.density < 1e3 && !(chunk.density < 0))", 1),
        ("all(chunk.density == chunk.density)", 1),
        ("allfinite(m_e[0]@4096)", 1),
        ("max(m_e[0]@4096)", 4095),
        ("max(m_e[10]@20) - min(m_e[10]@20)", 19),
        ("sorted(m_e[0]@4096)", 1),
        ("sorted(rising)", 1),
        ("sorted(ids)", 1),
        ("all(mask)", 0),
        ("count(mask)", 3),
        ("max(wide)", 2),
        ("checksum(bytes)", 0xE3069283),
        ("allfinite(m_e[0]@4096) && all(rising >= 0)", 1),
        ("max(m_e[0]@step) + step", 7),
    ],
)
def test_values(gdb: Gdb, expression: str, value: float) -> None:
    assert number(gdb, expression) == value
    in_quotes = json.loads(gdb.run(f"rdb-number '{expression}'"))[1]
    assert in_quotes == value


def test_whole_numbers_are_exact(gdb: Gdb) -> None:
    said = {text: json.loads(gdb.run(f"rdb-number {text}"))[0] for text in
            ("max(ids)", "max(marks)", "min(marks)")}  # fmt: skip
    assert said == {
        "max(ids)": str(2**63 - 1), "max(marks)": str(2**64 - 1), "min(marks)": str(2**64 - 2)
    }  # fmt: skip
    assert number(gdb, "count(ids < 9223372036854775807)") == 2
    assert crc32c(0, b"123456789") == 0xE3069283


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("all(m_e)", "m_e is a pointer: m_e[0]@100 says how many"),
        ("all(chunk)", "chunk is neither an array nor a container"),
        ("all(step)", "no array"),
        ("all(nowhere > 1)", "nowhere"),
        ("all(chunk.density == rising)", "different shapes"),
        ("allfinite(((double *) 16)[0]@4)", "memory at"),
        ("all()", "needs an array"),
    ],
)
def test_what_is_no_array_says_so(gdb: Gdb, expression: str, reason: str) -> None:
    assert reason.lower() in gdb.fails(f"rdb-number {expression}").lower()


def test_in_gdbs_own_commands(home: Path) -> None:
    with Gdb("cells", rank=1, home=home) as opened:
        opened.run('break MPI_Barrier if !$allfinite("chunk.density")')
        opened.run("continue")
        assert opened.function() != "__GI__exit"
        assert number(opened, "chunk.step") == 5
        assert opened.run('print $max("rising")').strip().endswith("= 19")


@pytest.mark.parametrize(
    ("expression", "place", "element"),
    [
        ("allfinite(chunk.density)", "nan", "chunk.density[3][7] = -nan("),
        ("max(abs(chunk.density)) < 1e6", "nan", "chunk.density[3][7] = -nan("),
        ("all(chunk.density > -1)", "nan", "chunk.density[3][7] = -nan("),
        ("all(m_e[0]@4096 >= 0)", "negative", "m_e[4000] = -1"),
        ("sorted(m_e[0]@4096)", "negative", "m_e[4000] = -1"),
        ("min(m_e[3000]@1096) > 0", "negative", "m_e[4000] = -1"),
    ],
)
def test_bisect_names_rank_element_and_statement(
    home: Path, expression: str, place: str, element: str
) -> None:
    done = run_rdb(home, home.parent, "bisect", "cells", expression, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    (found,) = report["found"]
    assert (found["rank"], found["line"]) == (1, line_of(place)), found
    assert len(found["elements"]) == 1 and found["elements"][0].startswith(element)
    assert found["verified_before"] and found["verified_after"]
    assert report["not_found"][0]["rank"] == 0
    shown = run_rdb(home, home.parent, "bisect", "cells", expression).stdout
    assert f"first bad element: {element}" in shown


def test_in_the_console(home: Path) -> None:
    lines = [
        "defset bad !allfinite(chunk.density)",
        "print --stats count(chunk.density > 50)",
        "plot max(m_e[0]@4096)",
        "print allfinite(chunk.density)",
        "print max(m_e[0]@10) + 1",
        "diff checksum(chunk.density) 0 1",
        "goto start",
        "break update if !allfinite(chunk.density)",
        "continue",
        "print chunk.step",
    ]
    said = dict(zip(lines, in_console(home, "cells", lines), strict=True))
    assert said[lines[0]].startswith("bad: 1 (1 of 2)")
    assert "min" in said[lines[1]] and "4095" in said[lines[2]]
    assert "0: $" in said[lines[3]] or "0: 1" in said[lines[3]]
    assert "10\n" in said[lines[4]]
    assert "rank 0" in said[lines[5]] and "rank 1" in said[lines[5]]
    assert "1: " in said[lines[9]] and said[lines[9]].rstrip().endswith("5")


# Fortran.


def test_fortran(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    program, source = tmp_path / "program", PROGRAMS / "fortran" / "elements.f90"
    subprocess.run(["gfortran", "-g", "-O0", "-o", program, source], check=True, cwd=tmp_path)
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        assert number(gdb, "max(a)") == 203 + 0
        gdb.run("up")
        cases: dict[str, float] = {
            "allfinite(grid)": 1,
            "all(grid > -100)": 1,
            "all(grid .gt. -99 .and. grid < 1000)": 0,
            "any(grid == 103)": 1,
            "max(part)": 103,
            "min(part)": -98,
            "sum(part)": -98 + 102 - 97 + 103,
            "max(grid(0:2:2, 3))": 203,
            "max(cube(:, 5, :))": 250,
            "count(cube /= 0)": 12,
            "max(sub(1)%w)": 1202,
            "max(abs(grid)) < 1d6": 1,
            "max(grid) + 1": 204,
        }
        for expression, value in cases.items():
            assert number(gdb, expression) == value, expression
        gdb.run("set var cube(1, 6, -1) = -5")
        gdb.run("python from rdb_gdb import predicates")
        said = gdb.run("python predicates.value('all(cube > 0)'); print(predicates.decided())")
        assert said.strip() == "['cube(1,6,-1) = -5']"
        gdb.run("set var grid(2, 3) = -7")
        said = gdb.run("python predicates.value('all(grid(0:2:2, 2:3) > -7)');"
                       "print(predicates.decided())")  # fmt: skip
        assert said.strip() == "['grid(2,3) = -7']"
        assert ".FALSE." in gdb.run("print $all('grid > -7')")


# Containers of C++.


def test_cxx(tmp_path: Path) -> None:
    program, source = tmp_path / "program", PROGRAMS / "elements.cc"
    subprocess.run(["g++", "-g", "-O0", "-o", program, source], check=True)
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        cases: dict[str, float] = {
            "max(rows)": 11,
            "all(rows >= 0)": 1,
            "sorted(cells[1].many)": 1,
            "max(cells[1].many)": 101,
            "max(plane)": 12,
            "count(plane > 5)": 3,
            "checksum(cells[0].many) == checksum(cells[1].many)": 0,
        }
        for expression, value in cases.items():
            assert number(gdb, expression) == value, expression
        said = gdb.run("python from rdb_gdb import predicates; "
                       "predicates.value('max(rows)'); print(predicates.decided())")  # fmt: skip
        assert said.strip() == "['rows[1][1] = 11']"
        assert "one piece" in gdb.fails("rdb-number max(chain)")


def test_cxx_views(tmp_path: Path) -> None:
    source = tmp_path / "views.cc"
    source.write_text(
        "#include <deque>\n#include <span>\n#include <valarray>\n"
        "std::valarray<double> values = {1, 2, 5};\n"
        "double plain[4] = {4, 3, 2, 1};\n"
        "std::span<double> whole{plain};\n"
        "std::span<double, 3> three{plain + 1, 3};\n"
        "std::span<double> none{plain, 0};\n"
        "std::deque<int> queue(3);\n"
        "int look() { return queue.size() + whole.size() + three.size() + values.size() == 13; }\n"
        "int main() { return look() - 1; }\n"
    )
    program = tmp_path / "views"
    subprocess.run(["g++", "-std=c++20", "-g", "-O0", "-o", program, source], check=True)
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        cases: dict[str, float] = {
            "max(values)": 5,
            "sorted(values)": 1,
            "max(whole)": 4,
            "sum(three)": 6,
            "allfinite(none)": 1,
            "all(three == three)": 1,
        }
        for expression, value in cases.items():
            assert number(gdb, expression) == value, expression
        gdb.run("python from rdb_gdb import predicates")
        said = gdb.run("python predicates.value('max(three)'); print(predicates.decided())")
        assert said.strip() == "['three[0] = 3']"
        assert "one piece" in gdb.fails("rdb-number max(queue)")


def test_a_function_of_the_programs_own_is_that(tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    source.write_text(
        "int values[2] = {7, 3};\n"
        "int max(int a, int b) { return a > b ? a : b; }\n"
        "int main(void) { return max(values[0], values[1]) != 7; }\n"
    )
    program = tmp_path / "own"
    subprocess.run(["gcc", "-g", "-O0", "-w", "-o", program, source], check=True)
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("break max")
        gdb.run("continue")
        gdb.run("delete")
        assert number(gdb, "max(1, 2)") == 2
        assert number(gdb, "min(values)") == 3
        assert math.isclose(number(gdb, '$sum("values")'), 10)
