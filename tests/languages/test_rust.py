"""Predicates over containers of Rust's, by their references, and members of their elements."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from arrays import check, decided
from conftest import PROGRAMS
from gdbdriver import Gdb, Recorded, in_console

pytestmark = pytest.mark.languages
SOURCE = PROGRAMS / "members.rs"


@pytest.fixture(scope="module")
def gdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc")
    folder = tmp_path_factory.mktemp("rust")
    subprocess.run(["rustc", "-g", "-o", folder / "program", SOURCE], check=True)
    with Recorded(folder, folder / "program", SOURCE).gdb() as opened:
        opened.run("break members.rs:17")
        opened.run("continue")
        yield opened


@pytest.mark.parametrize("frame", [0, 1])
def test_members(gdb: Gdb, frame: int) -> None:
    """Of references in `look`, of the containers in `main`."""
    gdb.run(f"frame {frame}")
    check(gdb, {
        "max(many.x)": 4,
        "all(many.y > -3)": 0,
        "count(many.w >= 0)": 15,
        "max(many.w[1])": 4,
        "sum(many.t.1)": 2.5,
        "sum(many.t.__0)": 10,
        "sum(four.x)": 10,
        "sum(queue)": 6,
    })  # fmt: skip
    assert decided(gdb, "all(many.y > -3)") == "['many[3].y = -3']"


def test_of_a_slice(gdb: Gdb) -> None:
    gdb.run("frame 0")
    check(gdb, {"max(part.x)": 2, "min(part.y)": -2, "sum(part.w)": 9})


def test_in_one_piece(gdb: Gdb) -> None:
    gdb.run("frame 1")
    check(gdb, {"sum(plain)": 1, "all(none > 0)": 1, "count(none > 0)": 0})


def test_in_two_pieces(gdb: Gdb) -> None:
    gdb.run("frame 1")
    count = int(gdb.value("wrapped.len"))
    elements = [2, 3, *range(count - 3), 9]
    check(gdb, {
        "max(wrapped)": max(elements),
        "sum(wrapped)": sum(elements),
        "min(wrapped)": min(elements),
        "count(wrapped >= 0)": count,
        "all(wrapped < 9)": 0,
    })  # fmt: skip
    assert decided(gdb, "all(wrapped < 9)") == f"['wrapped[{count - 1}] = 9']"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc")
    folder, source = tmp_path_factory.mktemp("containers"), PROGRAMS / "containers.rs"
    subprocess.run(["rustc", "-g", "-o", folder / "program", source], check=True)
    return Recorded(folder, folder / "program", source)


def test_elements_lengths_and_texts(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        gdb.run("break getppid")
        for _ in range(6):
            gdb.run("continue")
        gdb.run("finish")
        check(gdb, {
            "g.cells[3]": -7,
            "g.cells[n - 2] < 0": 1,
            "g.rows[1][2]": 12,
            "g.rows[1].len() + g.cells.len()": 13,
            "queue[0] + queue[3]": 102 + 105,
            "queue.len()": 4,
            "slice[1] == g.cells[3]": 1,
            "by_name.len() + ordered.len()": 2,
            "g.tag.is_some()": 1,
            "g.tag.is_none()": 0,
            "g.cells.is_empty()": 0,
            'g.name == "other"': 1,
            'g.name != "first" && n == 5': 1,
        })  # fmt: skip
        assert "The index is 10, but the length is 10" in gdb.fails("rdb-number g.cells[10]")
        gdb.run("delete")
        gdb.run("rdb-meant watch g.cells[3]")
        assert "New value = 4" in gdb.run("reverse-continue")
        gdb.expect_at(recorded.at("changed"))


def test_searches(recorded: Recorded) -> None:
    lines = ["print g.cells[3]", "bisect g.cells[3] > -1.0", 'bisect g.name == "first"',
             "find-event g.cells[3] < 0.0 --count"]  # fmt: skip
    _, element, text, events = in_console(recorded.home, "job", lines)
    assert recorded.at("changed") in element
    assert "turned false" in text and "1 event;" in events
