"""The demos, as `make demo` runs them: each of their claims is checked by the demo itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deadlines
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("heat", "the two rows are swapped"),
        pytest.param("credits", "reached one slot too far", marks=pytest.mark.slow),
    ],
)
def test_the_demo_finds_the_bug(name: str, bug: str, rdb_home: Path) -> None:
    done = deadlines.run(
        [sys.executable, "-m", f"demos.{name}.demo"], 600, cwd=ROOT, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert bug in done.stdout
    assert [path.name for path in rdb_home.iterdir() if path.name.startswith(f"{name}-")] != []
