"""mmap(2) finds room as long as there is any, and what was unmapped is room."""

from __future__ import annotations

from pathlib import Path

from kit.alone import build, record


def test_more_than_the_range_for_mmap(tmp_path: Path) -> None:
    made = record(tmp_path, build("address_space.c", tmp_path), hash_every=10)
    assert (made.result.returncode, made.result.stdout) == (0, "0 failed, 1\n"), made.result.stderr
    made.expect_equal(every=10)
