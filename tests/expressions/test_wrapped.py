"""std::atomic, optional, tuple, pair, array and variant in each command, as the program compares
them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from arrays import number
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Recorded, in_console

# Condition -> the step at which it turns false.
CONDITIONS = {
    "state.step < 7": 7,
    "7 > at->step": 7,
    "at->step.load() + 1 != 8": 7,
    "state.level <= 6": 5,
    "!state.late": 6,
    "state.late == false": 6,
    "state.step < 4 && !state.late": 4,
    "!state.half": 4,
    "!state.half.has_value()": 4,
    "state.half == std::nullopt": 4,
    "std::get<0>(state.best) < 5": 5,
    'std::get<2>(at->best) != "x6"': 6,
    "std::get<1>(state.pair) < 3": 3,
    "std::get<1>(state.three) < 2": 2,
}
# These have no value before step 4, or from step 5 on.
PARTLY = {
    "state.half < 3": 6,
    "*state.half < 3": 6,
    "state.half.value() < 3": 6,
    "std::get<0>(state.either) < 3": 3,
}
PRINTED = {  # at step 8
    "state.step + 1": "9",
    "state.step": "8",
    "*state.half": "4",
    "std::get<0>(at->best)": "8",
    "std::get<1>(state.either)": "0.5",
    "std::get<0>(state.either)": "the variant holds alternative 1, not 0",
    "std::get<3>(state.best)": "has no element 3",
}
BUILDS = [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-stdlib=libc++")]


@pytest.fixture(scope="module", params=BUILDS, ids=" ".join)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> Path:
    compiler, flag = request.param
    if shutil.which(compiler) is None or (
        flag[1] == "s" and not Path("/usr/include/c++/v1").exists()
    ):
        pytest.skip(f"no {compiler} {flag}")
    home = tmp_path_factory.mktemp("wrapped")
    program = build("wrapped.cc", flag, "-std=c++17", compiler=compiler)
    assert run_rdb(home, home, "run", "--name", "job", "--", program).returncode == 0
    return home


@pytest.fixture(scope="module")
def first(home: Path) -> int:
    """The event of the first step."""
    done = run_rdb(home, home, "find-event", "job", "getppid", "--json")
    event: int = json.loads(done.stdout)[0]["event"]
    return event


def event_of(said: str) -> int:
    found = re.search(r"^Event (\d+)", said, re.MULTILINE)
    assert found, said
    return int(found[1])


@pytest.mark.slow
def test_find_event(home: Path, first: int) -> None:
    """The first step at which each is false."""
    asked = {
        text: text[1:] if text[0] == "!" and "&" not in text else f"!({text})"
        for text in {**CONDITIONS, **PARTLY}
    }
    lines = [line for one in asked.values() for line in ("goto start", f"find-event getppid {one}")]
    said = dict(zip(asked, in_console(home, "job", lines)[1::2], strict=True))
    assert {text: event_of(answer) - first for text, answer in said.items()} == {
        **CONDITIONS,
        **PARTLY,
    }


def test_conditions_of_locals(home: Path) -> None:
    """Their types are not known where the conditions are typed."""
    text = (PROGRAMS / "wrapped.cc").read_text().splitlines()
    line = 1 + text.index("\t\tseen(&counter, &over, &maybe);")
    lines: list[str] = []
    for condition in ("counter == 8", "!(counter != 8)", "maybe == 4", "over"):
        stop = [f"break {line} if {condition}", "continue", "print i", "delete"]
        lines += ["goto start", *stop]
    said = in_console(home, "job", lines)[3::5]
    assert [re.search(r"= (\d+)", one)[1] for one in said] == ["4", "4", "4", "7"], said


def test_bisect(home: Path, first: int) -> None:
    asked = ("state.step < 7", "!state.half", "*state.half < 3", 'std::get<2>(at->best) != "x6"')
    lines = [line for one in asked for line in ("goto end", f"bisect {one}", "find-event getppid")]
    said = in_console(home, "job", lines)
    for condition, found, event in zip(asked, said[1::3], said[2::3], strict=True):
        assert f"{condition} turned false in rank 0 at " in found, found
        assert event_of(event) - first == {**CONDITIONS, **PARTLY}[condition]


def test_each_command(home: Path) -> None:
    stop = ["goto start", "break getppid if state.step == 8", "continue", "delete"]
    shown = [f"print {text}" for text in PRINTED]
    more = ["plot state.step", "plot state.half", "diff state.step 0 0", "display state.step + 1"]
    over = ["watch state.half > 3", "reverse-continue", "print *state.half", "delete", "goto end"]
    tuples = ["goto start", "watch std::get<0>(state.best) > 6", "continue", "print state.best"]
    said = in_console(home, "job", [*stop, *shown, *more, *over, *tuples])
    for text, answer in zip(PRINTED.items(), said[4:], strict=False):
        assert text[1] in answer, (text, answer)
    rest = said[4 + len(PRINTED) :]
    assert re.search(r"\b8\b", rest[0]) and re.search(r"\b4\b", rest[1]), rest[:2]
    assert "1: state.step + 1 = 9" in rest[3], rest[3]
    assert "= 3\n" in rest[6] and re.search(r"\b7\b", rest[12]), rest[4:]


def test_an_optional_that_changes_often_between_events(tmp_path: Path) -> None:
    source = tmp_path / "often.cc"
    source.write_text(
        "#include <optional>\n#include <unistd.h>\n"
        "struct { std::optional<int> cell; } one;\n"
        "int main() {\n"
        "  one.cell = 1;\n"
        "  getppid();\n"
        "  for (int i = 0; i < 600; i++) one.cell = i;\n"
        "  one.cell.reset();\n"
        "  getppid();\n"
        "}\n"
    )
    program = tmp_path / "often"
    command = ["g++", "-std=c++17", "-g", "-O0", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        found = json.loads(gdb.run("bisect one.cell --json"))
        # the printers of GCC 14 leave out the type
        assert re.fullmatch(r"std::optional(<int>)? \[no contained value\]", found["after"])


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_members_of_an_optional_without_a_value(tmp_path: Path, level: str) -> None:
    """The reason is said, and the statement that gives it its first value is the program's own."""
    source = tmp_path / "best.cc"
    source.write_text(
        "#include <optional>\n#include <deque>\n#include <unistd.h>\n"
        "struct Result { int id; double value; };\n"
        "struct { std::optional<Result> best; std::deque<int> todo{1, 2, 3}; } one;\n"
        "static __attribute__((noinline)) void take(int i)\n{\n"
        "\tif (i == 5)\n\t\tone.best = Result{i, 9.5}; // first\n"
        "\tif (!one.todo.empty())\n\t\tone.todo.pop_front();\n}\n"
        "int main()\n{\n\tfor (int i = 0; i < 10; i++) {\n\t\tgetppid();\n\t\ttake(i);\n\t}\n}\n"
    )
    program = tmp_path / "best"
    subprocess.run(["g++", "-g", level, "-std=c++17", "-o", str(program), str(source)], check=True)
    with Recorded(tmp_path, program, source).gdb() as gdb:
        gdb.run("break take")
        gdb.run("continue")
        assert "has no value" in gdb.fails("rdb-number one.best->value")
        assert number(gdb, "one.best && one.best->value < 10") == 0
        said = gdb.fails("bisect one.best->value < 1")
        assert "false from its first value on, at best.cc:9" in said and "has no value" in said
