"""A program for each family of MPI functions: right under rdb, and each rank replays alone.

RDB_TEST_MPI=all (`make test-mpi`) runs each with 2, 3 and 4 ranks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import deadlines
import pytest
from conftest import TIMEOUT_S, Build
from deadlines import wait_for
from mpijob import lines, record

from rdb.paths import mpi_dir, rdb_exec_path
from rdb.recording import RankRecording

FAMILIES = {
    "collectives_nonblocking": 3,
    "communicators": 3,
    "datatypes": 2,
    "neighbors": 3,
    "objects": 2,
    "requests": 2,
    "threads_nonblocking": 2,
    "tools": 2,
}
ALL = os.environ.get("RDB_TEST_MPI") == "all"
CASES = [
    (family, ranks)
    for family, usual in FAMILIES.items()
    for ranks in ((2, 3, 4) if ALL else (usual,))
]


@pytest.mark.parametrize(("family", "ranks"), CASES)
def test_family(family: str, ranks: int, build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, ranks, build(f"mpi/{family}.c", "-O1", "-w"))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == [f"{rank}: good" for rank in range(ranks)]
    job.expect_equal()


def test_spawned_processes_are_ranks_of_the_job(build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 2, build("mpi/spawn.c", "-O1"), "meet")
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good", "child 0: good", "child 1: good"]
    assert sorted(path.name for path in job.path.glob("rank-*")) == [f"rank-{n}" for n in range(4)]
    replace(job, ranks=4).expect_equal()


def test_a_spawned_program_is_looked_for_where_the_info_says(build: Build, tmp_path: Path) -> None:
    program = build("mpi/spawn.c", "-O1")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/away").symlink_to(program)
    job = record(tmp_path, 2, program, "alone", "away", f"/nowhere:{tmp_path}/elsewhere")
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good", "child 0: good", "child 1: good"]
    replace(job, ranks=4).expect_equal()


# Programs of a child: its shell and, in a child of that, the shell's copy and what it becomes.
@pytest.mark.parametrize(("before", "each"), [("exec ", 2), ("", 3)])
def test_a_script_around_spawned_processes_keeps_their_world(
    before: str, each: int, build: Build, tmp_path: Path
) -> None:
    program = build("mpi/spawn.c", "-O1")
    wrapper = tmp_path / "wrapper.sh"
    wrapper.write_text(f'#!/bin/sh\n{before}{program} "$@"\n')
    wrapper.chmod(0o755)
    job = record(tmp_path, 2, program, "meet", wrapper)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good", "child 0: good", "child 1: good"]
    programs = [log.parent for log in job.path.glob("rank-*/**/log-000000.seg")]
    worlds = {}
    for folder in programs:
        replay = [rdb_exec_path(), "--replay", folder, "--files", job.files, "--verify"]
        done = deadlines.run(replay, TIMEOUT_S)
        assert json.loads(done.stdout)["ok"], (folder, done.stdout, done.stderr)
        meta = RankRecording(folder, job.files).meta
        worlds[meta["rank"]] = meta["world_first"]
    assert worlds == {0: 0, 1: 0, 2: 2, 3: 2}
    assert len(programs) == 2 + 2 * each


@pytest.mark.parametrize("below", ["openmpi", "mpich"])
def test_signals_have_the_stack_that_rdb_gave_them(
    below: str, build: Build, tmp_path: Path
) -> None:
    """A library of the MPI may have set another one, too small for rdb: its mapping tells."""
    if not mpi_dir(below).exists():
        pytest.skip(f"no {below} here")
    program = build("mpi/own_stack.c", "-O1", compiler=f"mpicc.{below}")
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", f"--mpi={below}", "-n", "1", "--", program],
        env={**os.environ, "RDB_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        process = Path("/proc") / running.stdout.readline().decode().strip()
        wait_for("the read", lambda: (process / "syscall").read_text().startswith("0 "))
        stack = int((process / "syscall").read_text().split()[7], 16)
        sizes = [
            high - low
            for low, high in ranges((process / "maps").read_text())
            if low <= stack < high
        ]
        os.kill(int(process.name), signal.SIGKILL)
    assert sizes and sizes[0] >= 1 << 20


def ranges(maps: str) -> list[tuple[int, int]]:
    ends = [line.split()[0].split("-") for line in maps.splitlines()]
    return [(int(low, 16), int(high, 16)) for low, high in ends]
