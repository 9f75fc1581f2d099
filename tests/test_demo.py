"""The main job, as `make demo` runs it: each of its claims is checked by the demo itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent / "demos" / "heat" / "demo.py"


@pytest.mark.slow
def test_the_demo_finds_the_bug(rdb_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, DEMO],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "the two rows are swapped" in done.stdout
    assert [path.name for path in rdb_home.iterdir() if path.name.startswith("heat-")] != []
