"""Programs of the distribution: recorded, then every process of each replayed alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.entry import Entry
from corpus.programs import PROGRAMS
from corpus.runner import native, record, verify_all


def of(entries: tuple[Entry, ...]) -> list[object]:
    marks = pytest.mark.corpus
    return [pytest.param(e, id=e.name, marks=marks(sample=e.sample)) for e in entries]


def need(entry: Entry, must_be_there: bool) -> None:
    missing = entry.missing()
    if missing and must_be_there:
        pytest.fail(f"{missing} is not installed (Debian: {entry.packages})")
    if missing:
        pytest.skip(f"{missing} is not installed (Debian: {entry.packages})")


@pytest.mark.parametrize("entry", of(PROGRAMS))
def test_every_process_replays_alone(entry: Entry, must_be_there: bool, tmp_path: Path) -> None:
    need(entry, must_be_there)
    # The same path for both runs: programs print where they are.
    where = tmp_path / "run"
    expected = native(entry, where)
    where.rename(tmp_path / "native")
    ran = record(entry, where, tmp_path / "recording")
    assert (ran.code, expected.code) == (entry.code, entry.code), ran.err or expected.err
    assert "rdb:" not in ran.err
    assert entry.prints in ran.out
    if entry.repeatable:
        assert (ran.out, ran.err) == (expected.out, expected.err)
    processes = verify_all(tmp_path / "recording")
    assert not (unequal := [p for p in processes if not p.equal]), unequal
    assert len(processes) >= entry.processes
    assert sum(p.events for p in processes) >= entry.events
    assert sum(p.hashes for p in processes) >= 2 * entry.processes


def test_the_sample_is_never_skipped_as_a_whole() -> None:
    there = [e.name for e in PROGRAMS if e.sample and not e.missing()]
    assert len(there) >= 5, there
