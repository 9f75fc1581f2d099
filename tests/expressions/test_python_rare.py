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
