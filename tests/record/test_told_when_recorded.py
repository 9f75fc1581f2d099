"""What a user is told when a job is recorded: what may not replay, what fills the disk."""

from __future__ import annotations

import json
import mmap
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rdb, replay_agrees

from rdb.crc32c import crc32c
from rdb.recording import open_job
from rdb.recording.cautions import what_to_know
from rdb.recording.ranges import format_processes

BuildText = Callable[..., Path]

PYTHON = "/usr/bin/python3"
POOL = """
import mmap, sys
from multiprocessing import Pool
if sys.argv[1:]:
    with open(sys.argv[1], "r+b") as file:
        outsiders = mmap.mmap(file.fileno(), 4096)
def f(x):
    return sum(range(x % 700))
if __name__ == "__main__":
    with Pool(4) as pool:
        print(sum(pool.imap_unordered(f, range(1000), chunksize=1)))
"""
SHARED = "shared memory (a file made to be shared) may be written by processes outside this rank"


def may_not(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if "may not replay" in line]


def test_processes_with_memory_of_an_outsider_are_one_line(rdb: Rdb, tmp_path: Path) -> None:
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096):
            done = rdb("run", "--name", "pool", "--", PYTHON, program, file.name)
    assert done.returncode == 0, done.stderr
    assert may_not(done.stderr) == [
        f"rdb: 0,0.1-0.4 may not replay: {SHARED}; rdb info pool says where"
    ]
    assert done.stderr.splitlines()[-2].startswith("rdb: recorded job pool")
    said = rdb("info", "pool").stdout
    assert set(re.findall(r"^rank ([\d.]+), event \d+: shared", said, re.M)) == {
        *("0", "0.1", "0.2", "0.3", "0.4")
    }

    attached = rdb("attach", "pool", "-x", "/dev/null")
    assert may_not(attached.stderr) == may_not(done.stderr), attached
    assert attached.returncode == 0, attached  # nobody has written there

    # of several reasons the strongest, wherever it stands
    below = open_job("pool").path / "rank-0" / "child-3" / "cautions"
    unknown = "system call 999 is not known to rdb"
    line = f"event 900: {unknown}: its answer is logged".encode()
    below.write_bytes(below.read_bytes() + line + f" ~{crc32c(0, line):08x}\n".encode())
    assert what_to_know(open_job("pool")) == [
        f"0,0.1-0.2,0.4 may not replay: {SHARED}",
        f"0.3 may not replay: {unknown}",
    ]


def test_nothing_is_said_of_what_replays(rdb: Rdb, tmp_path: Path) -> None:
    done = rdb("run", "--", "/bin/sh", "-c", "/bin/true; /bin/true")
    assert (done.returncode, may_not(done.stderr)) == (0, []), done.stderr
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    done = rdb("run", "--name", "pool", "--", PYTHON, program)
    assert (done.returncode, may_not(done.stderr)) == (0, []), done.stderr
    replay_agrees(rdb, "pool")


WRITER = """
import ctypes, os
buffer = ctypes.create_string_buffer(64)
get, put = os.pipe()
hear, say = os.pipe()
pid = os.fork()
if not pid:
    os.write(say, b"x")
    os.read(get, 1)
    os._exit(len(buffer.value))
os.read(hear, 1)  # its recording has begun
memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
os.pwrite(memory, b"hello", ctypes.addressof(buffer))
os.write(put, b"x")
os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_who_is_written_to_is_the_one_that_may_not(rdb: Rdb) -> None:
    done = rdb("run", "--name", "it", "--", PYTHON, "-c", WRITER)
    assert done.returncode == len("hello"), done.stderr
    assert may_not(done.stderr) == [
        "rdb: 0.1 may not replay: process 0 writes to its memory; rdb info it says where"
    ]
    replayed = json.loads(rdb("replay", "it", "--verify", "--json").stdout)
    assert {one["process"]: one["ok"] for one in replayed} == {"0": True, "0.1": False}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("0", "1", "3"), "0-1,3"),
        (("0", "0.1", "0.2", "0.2.1", "1", "1.9", "1.10"), "0-1,0.1-0.2,0.2.1,1.9-1.10"),
    ],
)
def test_names_of_processes_in_writing(names: tuple[str, ...], text: str) -> None:
    assert format_processes(names) == text


# Each deletes a file with a hole, which rdb keeps by another name: it costs nothing.
DELETES = """
import os, sys
for number in range(5):
    if os.fork():
        os.wait()
        continue
    with open(f"{number}", "wb") as file:
        file.truncate(600 << 20)
    os.unlink(f"{number}")
    os._exit(0)
"""


def test_each_gib_of_kept_files_is_told(rdb: Rdb, rdb_home: Path) -> None:
    done = rdb("run", "--name", "it", "--", PYTHON, "-c", DELETES)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "GiB" in line]
    what = "files that the program overwrote or deleted; rdb run --kept-budget 1GB bounds that"
    assert told == [f"rdb: {rdb_home}/it: it keeps {n} GiB of {what}" for n in (1, 2)]
    assert len(list(rdb_home.glob("it/rank-0/child-*/kept-[0-9]*"))) == 5

    bounded = rdb("run", "--kept-budget", "20GB", "--", PYTHON, "-c", DELETES)
    assert (bounded.returncode, "GiB" in bounded.stderr) == (0, False), bounded.stderr


READS = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	enum { PIECE = 32 << 20 };
	const int fd = open("/dev/zero", O_RDONLY);
	char *piece = malloc(PIECE);
	for (int i = 0; i < 34; i++)
		if (read(fd, piece, PIECE) != PIECE)
			return 1;
	return 0;
}
"""


def test_each_gib_of_a_log_is_told(rdb: Rdb, build_text: BuildText, rdb_home: Path) -> None:
    program = build_text("reads", READS)
    done = rdb("run", "--name", "it", "--", program)
    assert rdb("rm", "it").returncode == 0 and not list(rdb_home.iterdir())
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "GiB" in line] == [
        f"rdb: {rdb_home}/it/rank-0: the log has 1 GiB; rdb run --keep 500MB keeps only its end, "
        "--log-budget 500MB only its beginning, --record=order only the order of MPI messages"
    ]
    bounded = rdb("run", "--name", "bounded", "--keep", "64MB", "--", program)
    assert rdb("rm", "bounded").returncode == 0 and not list(rdb_home.iterdir())
    assert (bounded.returncode, "GiB" in bounded.stderr) == (0, False), bounded.stderr
