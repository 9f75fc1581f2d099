"""Clocks: answered through the program's own vDSO, without a trap, and equal in replay."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import mpis
import pytest
from alone import BUILDS, build, record
from conftest import Build, Rdb

from rdb.recording import open_job
from rdb.recording.log.describe import clock_name
from rdb.recording.log.record import Kind
from rdb.recording.rank import RankRecording

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


@pytest.mark.parametrize("how", ["pie", "static"])
def test_the_short_way_is_replayed(how: str, tmp_path: Path) -> None:
    """Without a hash at each event, for which the short way is left."""
    made = record(tmp_path, build("vdso.c", tmp_path, *BUILDS[how]), hash_every=0)
    assert made.result.returncode == 0, made.result.stderr
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("hash_every", [0, 20000])
@pytest.mark.parametrize("beside", ["threads", "signals", "both"])
def test_threads_and_signals_beside_clocks(beside: str, hash_every: int, tmp_path: Path) -> None:
    program = build("clock_storm.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, beside, hash_every=hash_every)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    recording = RankRecording(made.rank_dir, made.files)
    kinds = [r.kind for r in recording.records()]
    # those that found the clock standing still are one record
    assert recording.last_event >= (20000 if beside == "signals" else 60000)
    if beside == "signals":
        assert kinds.count(Kind.SIGNAL) >= 20
    assert beside != "both" or kinds.count(Kind.SIGNAL) >= 5
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


def test_clocks_have_names() -> None:
    assert clock_name(1) == "CLOCK_MONOTONIC"
    assert clock_name((1 << 64) - 6) == "-6"  # a process's own, clock_getcpuclockid(3)


def test_a_program_that_reads_clocks_only_goes_back(rdb: Rdb, tmp_path: Path) -> None:
    program = build("vdso.c", tmp_path)
    done = rdb("run", "--", program)
    assert done.returncode == 0, done.stderr
    assert rdb("replay", "vdso-1", "--verify").returncode == 0


def test_records_are_stamped_with_the_time(tmp_path: Path) -> None:
    """Long enough that the time stamp counter is used, and with pauses between."""
    source = tmp_path / "stamps.c"
    source.write_text(
        """
        #include <time.h>
        #include <unistd.h>
        int main(void)
        {
            struct timespec ts;
            for (int turn = 0; turn < 3; turn++, usleep(20000))
                for (int i = 0; i < 50000; i++)
                    clock_gettime(CLOCK_REALTIME, &ts);
            return 0;
        }
        """
    )
    program = tmp_path / "stamps"
    subprocess.run(["gcc", "-O1", source, "-o", program], check=True)
    made = record(tmp_path, program, hash_every=100000)
    assert made.result.returncode == 0, made.result.stderr
    recording = RankRecording(made.rank_dir, made.files)
    stamps = [r.at_ns for r in recording.records() if r.kind.is_event]
    assert stamps == sorted(stamps)
    late = sorted(
        r.at_ns - r.result for r in recording.records() if r.kind is Kind.HYPERCALL and r.result > 0
    )
    assert len(late) > 100000  # those that found the clock standing still are one record
    assert late[len(late) // 100] > -1_000_000
    assert late[len(late) * 99 // 100] < 1_000_000


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["real", "day", "rdtsc", "signal", "thread"])
def test_a_delay_makes_few_events(way: str, flags: str, tmp_path: Path) -> None:
    """At full speed it makes millions in this time, on any machine that has a processor for it."""
    made = record(tmp_path, build("delays.c", tmp_path, flags, "-pthread"), way, hash_every=0)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    assert RankRecording(made.rank_dir, made.files).last_event < 100_000
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_delay_by_the_clock_of_mpi_makes_few_events(
    mpi: str, build: Build, rdb: Rdb, rdb_home: Path
) -> None:
    mpis.needs(mpi)
    program = build("mpi/delays.c", "-O1", compiler=f"mpicc.{mpi}")
    done = rdb("run", "--mpi", mpi, "--name", "it", "-n", "2", "--", program)
    assert done.returncode == 0, done.stderr
    job = open_job("it")
    assert all(job.rank(rank).last_event < 100_000 for rank in (0, 1))
    assert rdb("replay", "it", "--verify").returncode == 0


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["stamps", "turns", "ticks"])
def test_who_does_more_is_told_each_time(way: str, flags: str, tmp_path: Path) -> None:
    made = record(tmp_path, build("delays.c", tmp_path, flags, "-pthread"), way, hash_every=0)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    recording = RankRecording(made.rank_dir, made.files)
    assert recording.last_event >= 200_000
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
