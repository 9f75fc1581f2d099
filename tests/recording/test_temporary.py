"""Temporary names, and what killed processes leave under them."""

from __future__ import annotations

import os
from pathlib import Path

from rdb.process_stat import process_stat
from rdb.temporary import temporary


def test_what_ended_processes_left_is_removed(tmp_path: Path) -> None:
    """A later process may have the number of one that has ended."""
    own = temporary(tmp_path, "[pack]")
    own.mkdir()
    stat = process_stat(os.getpid())
    assert stat is not None and own.name.endswith(f".{os.getpid()}-{stat.start_ticks}")
    left = own.with_name(own.name[:-1] + str((stat.start_ticks + 1) % 10))
    left.mkdir()
    (left / "part").touch()
    others = [tmp_path / own.name.replace(os.uname().nodename, "elsewhere"), tmp_path / ".[pack].-"]
    for other in others:
        other.touch()
    assert temporary(tmp_path, "[pack]") == own
    assert sorted(tmp_path.iterdir()) == sorted([own, *others])
