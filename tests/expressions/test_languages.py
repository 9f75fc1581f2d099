"""bisect in the languages that programs are written in, however they were compiled."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import GdbError, Recorded
from languages import answered, check_marked, marked, turns
from languages.stepped import first_edges

SOURCES = PROGRAMS / "languages"
WAYS = {
    "nopie-dwarf4": ("-O0", "-gdwarf-4", "-no-pie", "-fno-pie"),
    "split": ("-O0", "-gsplit-dwarf"),
    "compressed": ("-O0", "-gz"),
    "lto": ("-O2", "-flto"),
    "O3": ("-O3",),
}


@pytest.mark.parametrize("name", ["turns.c", "turns.cc", "turns.f90"])
def test_bisect_in(tmp_path: Path, build: Build, name: str) -> None:
    program = build(SOURCES / name, "-O0")
    check_marked(Recorded(tmp_path, program, SOURCES / name), SOURCES / name)


@pytest.mark.parametrize(
    ("name", "way"),  # each in each way: `make test-languages`
    [
        *(("turns.c", "O3"), ("turns.c", "split"), ("turns.cc", "lto"), ("turns.cc", "compressed")),
        ("turns.c", "nopie-dwarf4"),  # Fortran takes five times as long
    ],
)
def test_bisect_of_what_is_compiled_so(tmp_path: Path, build: Build, name: str, way: str) -> None:
    optimised = "-O0" not in WAYS[way]
    program = build(SOURCES / name, *WAYS[way])
    recorded = Recorded(tmp_path, program, SOURCES / name)
    check_marked(recorded, SOURCES / name, optimised)


@pytest.mark.parametrize(
    ("level", "name", "turn"),
    [("-O0", "y >= 0", 41), ("-O0", "z <= 10000", 52), ("-O2", "z <= 10000", 52)],
)
def test_what_has_a_value_between_events_only(
    tmp_path: Path, build: Build, level: str, name: str, turn: int
) -> None:
    """As stepping through all instructions finds it; where it has no value is said."""
    source = PROGRAMS / "between_events.c"
    recorded = Recorded(tmp_path, build(source, level), source)
    with recorded.gdb() as gdb:
        events = turns(gdb)
        found = answered(gdb, source, f"mix::{name}")
        assert "mix is not running" in found["why_undefined"]
        assert found["before_true"] and found["after_false"]
        assert events[turn - 3] <= found["event"] < found["after_event"] + 1 <= events[turn - 1]
        fine = answered(gdb, source, "mix::i > 0")["error"]
        assert fine.startswith("true as long as it had a value; true at 3"), fine
    edge = first_edges(recorded, [(found["event"], found["after_event"], name)])[0]
    assert (found["position"], found["gap"]) == (edge.before, edge.between > 0)


@pytest.mark.parametrize("name", ["kept", "moved"])
def test_a_function_in_two_pieces(tmp_path: Path, name: str) -> None:
    """Ten functions between them end after it: its own last instruction is found nevertheless."""
    source = PROGRAMS / "cold_parts.c"
    program = tmp_path / "cold_parts"
    options = ["-g", "-O2", "-fno-inline", "-freorder-blocks-and-partition"]
    subprocess.run(["gcc", *options, "-o", program, source], check=True)
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    assert " t work.cold\n" in names
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        found = json.loads(gdb.run(f"bisect work::{name} > 0 --json"))
        events = turns(gdb)
    assert found.get("before_true") and found["after_false"] and not found["gap"], found
    assert events[28] <= found["event"] < events[29], found


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_bisect_in_rust(tmp_path: Path) -> None:
    program = tmp_path / "turns"
    subprocess.run(["rustc", "-g", "-o", program, SOURCES / "turns.rs"], check=True)
    check_marked(Recorded(tmp_path, program, SOURCES / "turns.rs"), SOURCES / "turns.rs")


def test_the_variable_that_was_meant(tmp_path: Path, build: Build) -> None:
    """Its name is that of another function's variable, and of one of libm's."""
    recorded = Recorded(tmp_path, build(SOURCES / "turns.f90", "-O0"), SOURCES / "turns.f90")
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        found = answered(gdb, recorded.source, "s == s")
        assert marked(SOURCES / "turns.f90", optimised=False)["s == s"].line in found["lines"]
        assert re.fullmatch(r"s in (state_of::)?work, turns.f90:\d+", found["variables"])
        assert "work is not running" in found["why_undefined"]
        with pytest.raises(GdbError, match="in the program's own code"):
            gdb.run("bisect environ /= 0")
        with pytest.raises(GdbError, match="neither true nor false"):
            gdb.run("bisect cells(1)")


def test_what_has_no_value_at_the_end_is_not_still_good(tmp_path: Path, build: Build) -> None:
    recorded = Recorded(tmp_path, build(SOURCES / "turns.c", "-O0"), SOURCES / "turns.c")
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        said = answered(gdb, recorded.source, "work::s < 1000 || work::s != work::s")["error"]
        assert re.match(r"still true at the end|true as long as it had a value", said)
        assert re.search(r"true at \d+ events? up to \d+, undefined at the other \d+", said)
        assert "work is not running" in said and "work::s in work, turns.c:" in said


@pytest.mark.parametrize(
    ("name", "place", "values"),
    [
        (
            "turns.f90",
            "call event",
            {
                "z": ("(1,0)", None),
                "real(z)": ("1", 1),
                "aimag(z)": ("0", 0),
                "abs(z)": ("1", 1),
                "abs(field(1,2))": ("1", 1),
                "mod(steps, 7)": ("4", 4),
                "wide": (".TRUE.", 1),
                "narrow": (".TRUE.", 1),
                "whole": (".TRUE.", 1),
                "cells(2)%fine": (".TRUE.", 1),
                "word": ("'go  '", None),
                "word == 'go  '": (".TRUE.", 1),
            },
        ),
        (
            "turns.c",
            "syscall(",
            {
                "state.z": ("1 + 0i", None),
                "creal(state.z)": ("1", 1),
                "cimag(state.z)": ("0", 0),
                "cabs(2 * state.z)": ("2", 2),
                "state.fine": ("true", 1),
            },
        ),
    ],
)
def test_values_as_the_language_has_them(
    tmp_path: Path,
    build: Build,
    name: str,
    place: str,
    values: dict[str, tuple[str, float | None]],
) -> None:
    lines = (SOURCES / name).read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.strip().startswith(place))
    with Recorded(tmp_path, build(SOURCES / name, "-O0"), SOURCES / name).gdb() as gdb:
        gdb.run(f"break {name}:{number}")
        gdb.run("continue")
        for expression, (text, value) in values.items():
            found = json.loads(gdb.run(f"rdb-number {expression}"))
            assert found[:2] == [text, value], expression
            assert gdb.run(f"rdb-meant print {expression}").rstrip().endswith(f"= {text}")
