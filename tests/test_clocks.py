"""Clocks: answered through the program's own vDSO, without a trap, and equal in replay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Rdb
from test_boundary import BUILDS, build, record

from rdb.recording.describe import clock_name
from rdb.recording.rank import RankRecording
from rdb.recording.record import Kind

_SYSCALLS_MADE = 9  # by vdso.c on purpose: eight clocks and the time with its zone


@pytest.mark.parametrize("how", BUILDS)
def test_each_clock_is_right_and_replayed(how: str, tmp_path: Path) -> None:
    made = record(tmp_path, build("vdso.c", tmp_path, *BUILDS[how]))
    assert made.result.returncode == 0, made.result.stderr
    made.expect_equal()


def test_a_clock_is_no_system_call_and_is_told_in_words(tmp_path: Path) -> None:
    made = record(tmp_path, build("vdso.c", tmp_path))
    assert made.result.returncode == 0, made.result.stderr
    recording = RankRecording(made.rank_dir, made.files)
    calls = [r.nr for r in recording.records() if r.kind is Kind.SYSCALL]
    assert sum(nr in (96, 201, 228) for nr in calls) == _SYSCALLS_MADE
    told = [recording.describe(event) for event in range(recording.last_event + 1)]
    real = [text for text in told if text.startswith("clock(CLOCK_REALTIME)")]
    assert f"clock(CLOCK_REALTIME) = {made.result.stdout.strip()}" in real
    assert "clock(12345) = -EINVAL (Invalid argument)" in told
    assert sum(bool(re.fullmatch(r"clock\(CLOCK_MONOTONIC\) = \d+\.\d{9}", t)) for t in told) > 1000


def test_clocks_have_names() -> None:
    assert clock_name(1) == "CLOCK_MONOTONIC"
    assert clock_name((1 << 64) - 6) == "-6"  # a process's own, clock_getcpuclockid(3)


def test_a_program_that_reads_clocks_only_goes_back(rdb: Rdb, tmp_path: Path) -> None:
    program = build("vdso.c", tmp_path)
    done = rdb("run", "--", program)
    assert done.returncode == 0, done.stderr
    assert rdb("replay", "vdso-1", "--verify").returncode == 0
