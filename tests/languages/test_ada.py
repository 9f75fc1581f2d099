"""Predicates over arrays of Ada whose bounds come with them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from arrays import check, decided
from conftest import PROGRAMS
from gdbdriver import Gdb, Recorded

pytestmark = pytest.mark.languages
SOURCE = PROGRAMS / "languages" / "bounds.adb"


@pytest.fixture(scope="module")
def gdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("ada")
    subprocess.run(["gnatmake", "-q", "-g", SOURCE], check=True, cwd=folder)
    with Recorded(folder, folder / "bounds", SOURCE).gdb() as opened:
        opened.run("break bounds.adb:16")
        for _ in range(20):
            opened.run("continue")
        yield opened


def test_of_one_dimension_and_of_two(gdb: Gdb) -> None:
    check(gdb, {
        "min(u)": -1,
        "max(u)": 20,
        "sum(u)": 8 * 2 + 20 - 1,
        "all(u > 0.0)": 0,
        "min(g)": -20,
        "sum(g)": 11 * 7 - 20,
        "count(g = 7)": 11,
    })  # fmt: skip
    assert decided(gdb, "all(u > 0.0)") == "['u(9) = -1.0']"
    assert decided(gdb, "min(g)") == "['g(1,3) = -20']"


def test_bisect(gdb: Gdb) -> None:
    assert "Changed by bounds.adb:12" in gdb.run("bisect all(u > 0.0)")
