"""Predicates over arrays, in every face that takes an expression, and what they name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check, decided, number, stopped
from arrays import home as home
from conftest import PROGRAMS, run_rdb
from gdbdriver import RAISING, Gdb, in_console

from rdb.crc32c import crc32c

# C, over ranks.


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
        ("all(m_e)", "m_e is a pointer: write m_e[0]@100"),
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


FOUND = [
    ("allfinite(chunk.density)", "nan", "chunk.density[3][7] = -nan("),
    ("max(abs(chunk.density)) < 1e6", "nan", "chunk.density[3][7] = -nan("),
    ("all(chunk.density > -1)", "nan", "chunk.density[3][7] = -nan("),
    ("all(m_e[0]@4096 >= 0)", "negative", "m_e[4000] = -1"),
    ("sorted(m_e[0]@4096)", "negative", "m_e[4000] = -1"),
    ("min(m_e[3000]@1096) > 0", "negative", "m_e[4000] = -1"),
]


@pytest.mark.parametrize(("expression", "place", "element"), FOUND)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "element"), [(one, element) for one, _, element in FOUND[::3]]
)
def test_bisect_shows_the_element(home: Path, expression: str, element: str) -> None:
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


def test_what_raises_has_no_value_in_any_face(home: Path, tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text(RAISING)
    begin = [f"source {tmp_path / 'raising.py'}", "goto start"]
    raising, why = "$below(chunk.step, 0)", "Error occurred in Python: 0 is too high"
    lines = [
        f"defset bad {raising} > 0",
        f"plot {raising}",
        f"diff {raising} 0 1",
        f"last {raising}",
        f"changes {raising}",
        f"print {raising}",
        f"display {raising}",
        "bisect 1/(chunk.step - chunk.step) > 0",
        "first 1/(chunk.step - chunk.step)",
        f"break update if {raising}",
        "continue",
    ]
    said = in_console(home, "cells", [*begin, *lines])[len(begin) :]
    for line, text in zip(lines[:7], said[:7], strict=True):
        assert why in text, (line, text)
        assert "turned" not in text and "1 (" not in text, (line, text)
    assert "Division by zero" in said[7] and "undefined at all" in said[7], said[7]
    assert "Division by zero" in said[8], said[8]
    stops = said[10]
    # GDB 13: "breakpoint condition", GDB 16: "condition for breakpoint 1"
    assert re.search("Error in testing .*condition", stops) and "is too high" in stops, stops


# Fortran.


def test_fortran(tmp_path: Path) -> None:
    source = PROGRAMS / "fortran" / "elements.f90"
    with stopped(tmp_path, source, "gfortran") as gdb:
        assert number(gdb, "max(a)") == 203
        gdb.run("up")
        check(gdb, {
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
        })  # fmt: skip
        gdb.run("set var cube(1, 6, -1) = -5")
        assert decided(gdb, "all(cube > 0)") == "['cube(1,6,-1) = -5']"
        gdb.run("set var grid(2, 3) = -7")
        assert decided(gdb, "all(grid(0:2:2, 2:3) > -7)") == "['grid(2,3) = -7']"
        assert ".FALSE." in gdb.run("print $all('grid > -7')")


# Containers of C++.


def test_cxx(tmp_path: Path) -> None:
    with stopped(tmp_path, PROGRAMS / "elements.cc", "g++") as gdb:
        check(gdb, {
            "max(rows)": 11,
            "all(rows >= 0)": 1,
            "sorted(cells[1].many)": 1,
            "max(cells[1].many)": 101,
            "max(plane)": 12,
            "count(plane > 5)": 3,
            "checksum(cells[0].many) == checksum(cells[1].many)": 0,
            "max(chain)": 1,
            "sum(by_name)": 3,
        })  # fmt: skip
        assert decided(gdb, "max(rows)") == "['rows[1][1] = 11']"
        assert decided(gdb, "all(by_name < 2)") == "['by_name[\"two\"] = 2']"


def test_cxx_views(tmp_path: Path) -> None:
    source = tmp_path / "views.cc"
    source.write_text(
        "#include <span>\n#include <valarray>\n"
        "std::valarray<double> values = {1, 2, 5};\n"
        "double plain[4] = {4, 3, 2, 1};\n"
        "std::span<double> whole{plain};\n"
        "std::span<double, 3> three{plain + 1, 3};\n"
        "std::span<double> none{plain, 0};\n"
        "int look() { return whole.size() + three.size() + values.size() == 10; }\n"
        "int main() { return look() - 1; }\n"
    )
    with stopped(tmp_path, source, "g++", "-std=c++20") as gdb:
        check(gdb, {
            "max(values)": 5,
            "sorted(values)": 1,
            "max(whole)": 4,
            "sum(three)": 6,
            "allfinite(none)": 1,
            "all(three == three)": 1,
        })  # fmt: skip
        assert decided(gdb, "max(three)") == "['three[0] = 3']"


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    """Containers of each kind with 0, 1, 7 and 5000 elements."""
    folder = tmp_path_factory.mktemp("apart")
    with stopped(folder, PROGRAMS / "apart.cc", "g++", "-std=c++17") as gdb:
        yield gdb


KINDS = [
    "deque", "turned", "drained", "list", "set", "multiset", "map", "multimap", "uset", "umultiset",
    "umap", "umultimap", "queue", "stack", "forward",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_lie_apart(apart: Gdb, kind: str) -> None:
    """Each holds 0, 1, ... and is asked for what its elements have together."""
    for count in (0, 1, 7, 5000):
        name = f"all_{count}.{kind}"
        least, most, total = 0, count - 1, count * (count - 1) // 2
        check(apart, {f"count({name} >= 0)": count, f"sum({name})": total, f"allfinite({name})": 1})
        if count:
            check(apart, {f"max({name})": most, f"min({name})": least, f"all({name} < {most})": 0})
        if kind not in ("uset", "umultiset", "umap", "umultimap", "multimap", "forward"):
            check(apart, {f"sorted({name})": 1, f"count({name} - {name} == 0)": count})


@pytest.mark.parametrize(
    ("expression", "element"),
    [
        ("all(all_5000.deque != 4321)", "all_5000.deque[4321] = 4321"),
        ("all(all_5000.turned != 4321)", "all_5000.turned[4321] = 4321"),
        ("all(all_5000.list != 4321)", "all_5000.list[4321] = 4321"),
        ("all(all_5000.forward != 4321)", "all_5000.forward[678] = 4321"),
        ("max(all_7.set)", "all_7.set[6] = 6"),
        ("max(all_7.map)", "all_7.map[6] = 6"),
        ("max(all_7.umultimap)", 'all_7.umultimap["6"] = 6'),
        ("max(all_7.stack)", "all_7.stack[6] = 6"),
    ],
)
def test_the_element_that_decided_lies_apart(apart: Gdb, expression: str, element: str) -> None:
    apart.run("python from rdb_gdb.values import predicates")
    apart.run(f"python predicates.value({expression!r})")
    assert apart.run("python print(predicates.decided()[0])").strip() == element


def test_the_librarys_members_of_a_deque(apart: Gdb) -> None:
    """Also where elements lie before the middle of a node, or were there."""
    for kind in ("deque", "turned", "drained"):
        for count in (1, 7, 5000):
            name = f"all_{count}.{kind}"
            last = count - 1
            check(apart, {
                f"{name}.size()": count,
                f"{name}[{last}]": last,
                f"{name}.at({count // 2})": count // 2,
                f"{name}.back()": last,
            })  # fmt: skip
        assert number(apart, f"all_0.{kind}.empty()") == 1


def test_nodes_that_lead_nowhere(apart: Gdb) -> None:
    apart.run("set $kept = all_7.list._M_impl._M_node._M_next->_M_next")
    apart.run("set var all_7.list._M_impl._M_node._M_next->_M_next = (void *) 16")
    assert "memory at 0x10" in apart.fails("rdb-number max(all_7.list)")
    apart.run("set var all_7.list._M_impl._M_node._M_next->_M_next = $kept")
    assert "not numbers" in apart.fails("rdb-number max(words)")
    node = "((std::_Fwd_list_node_base *) all_7.forward._M_impl._M_head._M_next->_M_next)->_M_next"
    apart.run(f"set $kept = {node}")
    apart.run(f"set var {node} = all_7.forward._M_impl._M_head._M_next")
    assert "more than 10000 elements" in apart.fails("rdb-number max(all_7.forward)")
    apart.run(f"set var {node} = $kept")


def test_a_function_of_the_programs_own_is_that(tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    source.write_text(
        "int values[2] = {7, 3};\n"
        "int max(int a, int b) { return a > b ? a : b; }\n"
        "int main(void) { return max(values[0], values[1]) != 7; }\n"
    )
    with stopped(tmp_path, source, "gcc", "-w", function="max") as gdb:
        assert number(gdb, "max(1, 2)") == 2
        assert number(gdb, "min(values)") == 3
        assert math.isclose(number(gdb, '$sum("values")'), 10)
