"""A Python function that runs for a few of many events, wherever they lie."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import run_rdb

PROGRAM = """
import atexit, os

def some(count):
    for _ in range(count):
        os.getuid() or os.getppid()

def solve(count):
    energy = 1.0
    for _ in range(count):
        energy *= 2
        some(1)
    return energy

atexit.register(some, {after_the_program})
some({before})
solve({inside})
some({after})
"""


@pytest.mark.parametrize(
    ("before", "inside", "after", "after_the_program"),
    [(700, 3, 0, 45), (0, 3, 900, 0), (400, 2, 400, 300), (10, 2, 1, 700)],
)
def test_its_variable_is_found(
    tmp_path: Path, before: int, inside: int, after: int, after_the_program: int
) -> None:
    counts = {"before": before, "inside": inside, "after": after}
    program = PROGRAM.format(after_the_program=after_the_program, **counts)
    (tmp_path / "rare.py").write_text(program)
    home = tmp_path / "home"
    recorded = run_rdb(home, tmp_path, "run", "--name", "job", "--", sys.executable, "rare.py")
    assert recorded.returncode == 0, recorded.stderr
    done = run_rdb(home, tmp_path, "bisect", "job", "solve::energy < 3", "--json")
    found = json.loads(done.stdout)["found"]
    assert found, done.stdout
    lines = program.splitlines()
    assert lines[found[0]["line"] - 1] == "        energy *= 2"
    assert (found[0]["before"], found[0]["after"]) == ("1", "0")


MOMENT = """
import os

def before():
    import asyncio, email.message, http.server, sqlite3, unittest.mock, xml.dom.minidom
    kind = 3
    return kind

def late():
    kind = [1, 2]
    for turn in range(150):
        x = -1 if turn == 77 else turn
        os.getppid()
    return kind

before()
late()
before()
"""


@pytest.fixture(scope="module")
def moment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moment")
    (folder / "moment.py").write_text(MOMENT)
    recorded = run_rdb(folder, folder, "run", "--name", "job", "--", sys.executable, "moment.py")
    assert recorded.returncode == 0, recorded.stderr
    return folder


@pytest.mark.slow
def test_what_is_false_for_a_moment_is_sought_where_it_has_values(moment: Path) -> None:
    done = run_rdb(moment, moment, "bisect", "job", "late::x >= 0", "--json")
    (found,) = json.loads(done.stdout)["found"]
    assert MOMENT.splitlines()[found["line"] - 1].strip().startswith("x = -1")


@pytest.mark.slow
def test_a_list_is_told_from_what_has_no_value(moment: Path) -> None:
    said = run_rdb(moment, moment, "bisect", "job", "kind > 1").stdout
    assert "kind is a list of 2 items: write kind[0]" in said
    said = run_rdb(moment, moment, "bisect", "job", "before::kind > 1").stdout
    assert "before::kind has no value yet" in said
