"""Thousands of mappings: as natively, in time that grows with their number."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from alone import record, verify_all
from conftest import Build, Rdb, replay_agrees

from rdb.recording import RankRecording
from rdb.recording.log.record import Note

ROOT = Path(__file__).parents[2]


def test_ranges_as_a_list_has_them(build: Build) -> None:
    """And no tree is deep, whatever comes in whichever order: a search takes few steps."""
    program = build("spans_walk.c", "-O1", f"-I{ROOT / 'interposer'}")
    done = deadlines.native([program], check=False)
    assert (done.returncode, done.stdout) == (0, "as a list\n")


# More than tables of fixed length would hold.
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("private", 5000),
        ("shared", 2400),
        ("memfd", 1200),
        ("memfds", 1200),
        ("file", 1200),
        ("alias", 2400),
        ("read", 4400),
        ("end", 2400),
    ],
)
def test_as_natively(tmp_path: Path, build: Build, kind: str, count: int) -> None:
    program = build("many_mappings.c", "-O1")
    command = [program, kind, str(count), tmp_path / "file"]
    native = deadlines.native(command)
    options = ("--checkpoint-every", str(count))
    made = record(tmp_path, *command, hash_every=count, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    verify_all(made, kind)


@pytest.mark.slow
def test_live_again(build: Build, rdb: Rdb) -> None:
    program = build("many_mappings.c", "-O1")
    done = rdb("run", "--name", "first", "--", program, "shared", "700")
    assert done.returncode == 0, done.stderr
    again = rdb("restart", "first", "--at", "1100", "--name", "again")
    assert again.returncode == 0 and done.stdout.endswith(again.stdout), again.stderr
    assert again.stdout
    replay_agrees(rdb, "again")


@pytest.mark.parametrize("kind", ["memfd", "file", "sysv", "anonymous"])
def test_one_page_many_times(tmp_path: Path, build: Build, kind: str) -> None:
    """Stores of another process are logged for one of the mappings, whichever are left."""
    command = [build("one_page.c", "-O1"), kind, "1000", tmp_path / "file"]
    native = deadlines.native(command)
    made = record(tmp_path, *command, hash_every=100, options=("--checkpoint-every", "500"))
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    verify_all(made, kind)
    stored = [
        sum(chunk.note == Note.SHARED for chunk in one.chunks)
        for one in RankRecording(made.rank_dir, made.files).records()
    ]
    assert 0 < max(stored) <= 1 + 64  # the page, and lines of it that are logged in any case
