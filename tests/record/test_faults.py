"""Faults from outside: kills at random moments, full disks, no descriptors left, lost directories.

`make test-faults` does the same more often.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb
from events import events_called
from faults import DEADLINE_S, EVERYTHING, NO_MOUNTS, Rank, small_disk

from rdb.recording import Kind, RankRecording, open_job

KILLS = 200 if EVERYTHING else 12
GETPPID = 110
RDB = f"{sys.executable} -m rdb"


def rounds_in(recording: RankRecording) -> int:
    """Rounds of fault_work whose first call is in the log."""
    return sum(r.kind is Kind.SYSCALL and r.nr == GETPPID for r in recording.records())


def check_usable(rank: Rank, reported: int) -> RankRecording:
    """Everything that the program had told is there, in order, and replays to the end."""
    recording = rank.recording()
    assert recording.damage is None
    # the call of the round that was reported last was answered before it was reported
    assert rounds_in(recording) >= reported
    code, answer, said = rank.verify()
    if recording.last_event >= 0:
        assert (code, answer.get("ok")) == (0, True), (answer, said)
        assert answer["events"] == recording.last_event
    return recording


@pytest.fixture(scope="module")
def work(build: Build) -> Path:
    return build("fault_work.c", "-O1")


@pytest.mark.parametrize("seed", range(KILLS))
def test_row_27_killed_at_a_random_moment(work: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    rank = Rank.make(tmp_path)
    size = chance.choice((0, 10, 5000, 70_000, 300_000))
    every = chance.choice((0, 1, 50))
    hashes = ("--hash-every", str(every))
    checkpoints = chance.choice(((), ("--checkpoint-every", "50")))
    # A hash at every event makes few events; 1500 rounds of small reads fill no segment.
    upto = chance.choice((0, chance.randrange(20), chance.randrange(1500 if every != 1 else 100)))
    grown = chance.choice((0, chance.randrange(4 << 20))) if size >= 5000 else 0
    line = rank.line(work, "100000000", str(size), options=hashes + checkpoints)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    reported = 0
    if upto or grown:
        for text in process.stdout:
            reported = int(text) + 1
            if reported >= upto and _bytes(rank) >= grown:
                break
    for _ in range(chance.randrange(20_000)):
        pass  # at no particular place in the round
    process.kill()
    reported = max([reported, *(int(t) + 1 for t in process.stdout.read().split("\n")[:-1])])
    said = process.stderr.read()
    assert deadlines.wait(process, DEADLINE_S) == -signal.SIGKILL, said
    if (rank.path / "ckpt-000000.img").exists():
        assert check_usable(rank, reported).state == "killed"
    else:  # before its first event
        assert reported == 0


def _bytes(rank: Rank) -> int:
    """Of the log's records: segments are longer than what is in them."""
    segments = sorted(rank.path.glob("log-*.seg"))
    return sum(s.stat().st_size for s in segments[:-1])


@pytest.mark.parametrize("both", [False, True])
def test_row_27_rdb_run_is_killed(work: Path, tmp_path: Path, rdb_home: Path, both: bool) -> None:
    """Without it the rank goes on, and its recording is whole."""
    process = subprocess.Popen(
        [*shlex.split(RDB), "run", "--name", "job", "--", work, "3003", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    reported = [process.stdout.readline() for _ in range(100)]
    if both:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    reported += process.stdout.readlines()  # until the rank has closed it, too
    assert deadlines.wait(process, DEADLINE_S) == -signal.SIGKILL
    job = open_job("job")
    if not both:
        assert len(reported) == 3003
        _wait_gone(job.rank(0).meta["pid"])
        assert job.rank(0).state == "exited 3"
    recording = check_usable(Rank(job.rank(0).path, job.rank(0).files_dir), len(reported) - 1)
    assert recording.state == ("killed" if both else "exited 3")


def _wait_gone(pid: int) -> None:
    """Its standard output is closed a moment before the process is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(descriptor):
        import select

        assert select.select([descriptor], [], [], DEADLINE_S)[0]


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
@pytest.mark.parametrize("size", ["4m", "5m", "24m"])
def test_row_28_the_disk_fills(work: Path, tmp_path: Path, size: str) -> None:
    disk = tmp_path / "disk"
    done = small_disk(
        size,
        disk,
        f"export RDB_HOME={disk}/home\n"
        f"{RDB} run --name job --hash-every 1000 -- {work} 10003 5000 > {tmp_path}/out; echo $?\n"
        f"{RDB} ls; {RDB} info job; {RDB} replay --verify job; echo $?\n"
        f"cp -a {disk}/home {tmp_path}/kept; {RDB} rm job && ls {disk}/home",
    )
    # The job went on as if nothing had been.
    assert done.stdout.startswith("3\n"), done.stderr
    assert (tmp_path / "out").read_text() == "".join(f"{n}\n" for n in range(10003))
    # It is said once, and by everything that shows the recording.
    said = re.findall(r"^rdb: .*rank-0: No space left on device: .*", done.stderr, re.M)
    (line,) = said
    (at,) = re.findall(r"ends at event (\d+), the program goes on$", line)
    assert done.stdout.count("disk full: the rest was not recorded") == 2
    assert f"rank 0: {int(at) + 1} events, " in done.stdout
    assert done.stdout.endswith("\n0\n"), done.stdout
    # What was kept is usable.
    path = tmp_path / "kept" / "job"
    rank = Rank(path / "rank-0", path / "files")
    begun = next(r.event for r in rank.recording().records() if r.nr == GETPPID)
    recording = check_usable(rank, (int(at) - begun) // 3 + 1)
    assert recording.last_event == int(at) > 400
    assert recording.end is not None and recording.end.state.startswith("disk full")


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
@pytest.mark.parametrize("size", ["8k", "300k", "2m"])
def test_row_28_no_room_from_the_start(work: Path, tmp_path: Path, size: str) -> None:
    """Nothing was recorded, nothing is left behind, one line says why."""
    disk = tmp_path / "disk"
    done = small_disk(
        size,
        disk,
        f"export RDB_HOME={disk}/home\n{RDB} run --name job -- {work} 10 10; echo $?\n"
        f"ls {disk}/home; {RDB} ls",
    )
    assert done.stdout == "125\n", done.stdout
    first, *rest = done.stderr.splitlines()
    assert re.fullmatch(r"rdb: .*No space left on device.*", first)
    assert rest[0] == "rdb: nothing was recorded"


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
def test_a_read_only_store(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    done = small_disk(
        "8m",
        disk,
        f"export RDB_HOME={disk}/home\n{RDB} run --name job -- /bin/true\n"
        f"mount -o remount,ro {disk}\n"
        f"{RDB} run -- /bin/true; echo $?; {RDB} replay job; echo $?; {RDB} rm job; echo $?",
    )
    codes = [line for line in done.stdout.splitlines() if line.isdigit()]
    assert codes == ["125", "0", "1"], done.stderr
    assert done.stderr.count("Read-only file system") == 2
    assert "Traceback" not in done.stderr


def test_the_jobs_directory_vanishes(rdb: Rdb, work: Path, rdb_home: Path, tmp_path: Path) -> None:
    """The program goes on; what cannot be kept is said."""
    script = f"{work} 3 10; rm -rf {rdb_home}; exec {work} 3003 5000"
    done = rdb("run", "--name", "job", "--", "/bin/sh", "-c", script)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "3002"
    assert re.search(r"^rdb: .*No such file or directory", done.stderr, re.M), done.stderr
    assert "rdb: nothing was recorded" in done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr


@pytest.mark.parametrize("limit", [20, 100, 1024, 4096])
def test_a_program_that_uses_up_its_descriptors(
    rdb: Rdb, build: Build, rdb_home: Path, limit: int
) -> None:
    """It gets as many as it would get alone, with the same numbers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < limit + 200:
        pytest.skip(f"the hard limit of descriptors is {hard}")
    program = build("fault_descriptors.c")

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))

    native = subprocess.run(
        [program],
        preexec_fn=lower,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"last {limit - 1}, " in native.stdout
    done = rdb("run", "--name", "job", "--hash-every", "500", "--", program, preexec_fn=lower)
    assert done.returncode == 0, done.stderr
    assert done.stdout == native.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("rdb: recorded job job")
    assert len(list((rdb_home / "job" / "rank-0").glob("log-*.seg"))) > 1
    assert rdb("replay", "job", "--verify").returncode == 0


CAP_SYS_RESOURCE, PR_CAPBSET_DROP = 24, 24  # capabilities(7), prctl(2)


@pytest.mark.parametrize("limit", [40, 5000])
def test_where_there_can_be_no_more_descriptors(
    rdb: Rdb, build: Build, rdb_home: Path, limit: int
) -> None:
    """The hard limit is as low, and nobody may raise it: the recording goes on all the same."""
    libc = ctypes.CDLL(None)

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        libc.prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)  # who is not root has none

    program = build("fault_descriptors.c")
    done = rdb("run", "--name", "job", "--", program, preexec_fn=lower)
    assert done.returncode == 0, done.stderr
    assert "close_range 0\nclose -1\nagain 3\n" in done.stdout
    assert rdb("replay", "job", "--verify").returncode == 0
    assert open_job("job").rank(0).state == "exited 0"
    assert len(list((rdb_home / "job" / "rank-0").glob("log-*.seg"))) > 1


def test_inherited_descriptors_stay(rdb: Rdb, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from outside\n")
    line = f"{RDB} run --name job -- /bin/cat /dev/fd/7 7< {tmp_path}/input"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "from outside\n"), done.stderr


@pytest.mark.parametrize("megabytes", [1, 40, 60])
def test_no_memory(build: Build, rdb_home: Path, work: Path, megabytes: int) -> None:
    """Too little for rdb-exec itself, or for the program in it: one line, no signal."""

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    rank = Rank.make(rdb_home)
    done = deadlines.run(
        rank.line(work, "3", "10"), DEADLINE_S, preexec_fn=lower, stdin=subprocess.DEVNULL
    )
    if megabytes == 1:  # execve(2): the kernel kills what it cannot load, 25 MB
        assert done.returncode != 0
    elif done.returncode == 127:  # the program's own ld.so, as without rdb
        assert "failed to map segment from shared object" in done.stderr
    elif done.returncode != 3:
        assert done.returncode in (125, 126), done.stderr
        assert done.stderr.startswith("rdb: ")


def test_what_a_killed_process_did_is_recorded(build: Build, rdb: Rdb) -> None:
    """Its parent kills it as soon as it has heard from it: perhaps before the write's record."""
    done = rdb("run", "--name", "killed", "--", build("killed_writers.c", "-O1"), 30)
    assert done.returncode == 0, done.stderr
    job = open_job("killed")
    children = [
        RankRecording(one, job.rank(0).files_dir) for one in job.rank(0).path.glob("child-*")
    ]
    assert len(children) == 30
    assert all(events_called(child, "write(") for child in children)


def test_what_a_killed_rank_sent_is_recorded(build: Build, rdb: Rdb) -> None:
    program = build("mpi/killed_by_receiver.c", "-O1")
    done = rdb("run", "-n", "4", "--name", "killed", "--", program)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    job = open_job("killed")
    assert events_called(job.rank(1), "MPI_Recv(")
    assert events_called(job.rank(0), "MPI_Ssend(")
