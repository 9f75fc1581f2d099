"""Conditions of breakpoints where GDB 13 does not survive to look up their names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS
from gdbdriver import Recorded, in_console

pytestmark = pytest.mark.languages

SOURCE = PROGRAMS / "languages" / "turns.d"


def test_in_d_after_link_time_optimisation(tmp_path: Path) -> None:
    program = tmp_path / "turns"
    subprocess.run(["gdc", "-g", "-O1", "-flto", "-o", program, SOURCE], check=True)
    recorded = Recorded(tmp_path, program, SOURCE)
    line = next(
        n
        for n, text in enumerate(SOURCE.read_text().splitlines(), 1)
        if text.strip() == "getppid();"
    )
    lines = [
        "goto start",
        f"break turns.d:{line} if total == 7",
        "continue",
        "print i",
        "delete",
        f"break turns.d:{line}",
        "condition 2 i == 9",
        "continue",
        "print i",
        "condition 2 nowhere > 3",
        "continue",
        "print 1",
    ]
    said = in_console(recorded.home, "job", lines)
    assert said[3].rstrip().endswith("= 7") and said[8].rstrip().endswith("= 9"), said
    assert "is undefined here, so GDB does not stop" in said[10], said
    assert "end of the recording" in said[10] and said[11].rstrip().endswith("= 1"), said


RUST = """
struct Cell { id: i32, v: [f64; 2] }
#[inline(never)]
fn look(cells: &[Cell]) -> f64 { cells[1].v[0] + cells[0].id as f64 }
fn main() {
    let many: Vec<Cell> = (0..9).map(|i| Cell { id: i, v: [i as f64, -(i as f64)] }).collect();
    println!("{}", look(&many[2..5]));
}
"""


def test_predicates_in_rust(tmp_path: Path) -> None:
    """GDB would put a text of Rust into the program's memory, which opens a branch."""
    source = tmp_path / "slices.rs"
    source.write_text(RUST)
    subprocess.run(["rustc", "-g", "-o", tmp_path / "slices", source], check=True)
    recorded = Recorded(tmp_path, tmp_path / "slices", source)
    lines = ["goto start", "break slices::look if max(cells.id) == 4", "continue",
             "print max(cells.v)", "print all(cells.v[1] > -4)"]  # fmt: skip
    said = in_console(recorded.home, "job", lines)
    assert "rdb: cells[2].id = 4" in said[2] and "branch" not in "".join(said), said
    assert said[3].rstrip().endswith("= 4") and said[4].rstrip().endswith("= false"), said
