"""Families of system calls: small programs, recorded, replayed, memory compared at every event."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from alone import Made, build, record

from rdb.recording import open_job
from rdb.recording.rank import RankRecording

FAMILIES = ["sockets", "waiting", "files", "process", "ipc", "shared", "proc"]


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, tmp_path: Path) -> None:
    program = build(f"calls_{family}.c", tmp_path, "-lrt", "-lutil")
    native = deadlines.native([program], check=False)
    assert native.returncode == 0, native.stdout
    made = record(tmp_path, program, "recorded")
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result
    made.expect_equal(at_end=family != "shared")  # memory that others write has no hash at the end


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_storm_of_memory_calls(seed: int, tmp_path: Path) -> None:
    program = build("calls_storm.c", tmp_path)
    native = deadlines.native([program, str(seed)])
    made = record(tmp_path, program, str(seed))
    assert made.result.stdout == native.stdout, made.result.stderr
    made.expect_equal()


def test_calls_that_fail_and_have_written(tmp_path: Path) -> None:
    program = build("failed_outputs.c", tmp_path)
    native = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result
    made.expect_equal()


def test_calls_that_no_table_knows(tmp_path: Path) -> None:
    """Under --lax what they answered and wrote to memory is replayed; a caution says of which calls
    that is all that is known."""
    kernel, program = build("newer_kernel.c", tmp_path), build("unknown_calls.c", tmp_path)
    native = subprocess.run([kernel, program], capture_output=True, text=True, check=True)
    made = record(tmp_path, program, options=("--lax",), under=(kernel,))
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result
    made.expect_equal()
    said = (made.rank_dir / "cautions").read_text()
    assert re.findall("system call ([0-9]+) is not known to rdb", said) == ["999", "998"]


def test_what_calls_map_that_no_table_knows(tmp_path: Path) -> None:
    """Memory is mapped in a replay as it was, also where the kernel has chosen the place; with
    descriptors that such a call has made a restart refuses while they are open."""
    program = build("newer_calls.c", tmp_path)
    line = [program, program, "-", tmp_path / "native"]
    native = deadlines.run(line, 60)
    assert native.returncode == 0, native
    options = ("--lax", "--checkpoint-every", "10")
    made = record(tmp_path, program, "-", tmp_path / "file", options=options, under=(program,))
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result
    made.expect_equal()
    for image in sorted(made.rank_dir.glob("ckpt-*.img"))[1:]:
        code, answer = made.verify("--checkpoint", str(int(image.stem[5:])))
        assert (code, answer["ok"]) == (0, True), (image.name, answer)
    cautions = RankRecording(made.rank_dir, made.files).cautions
    told = re.findall(
        "system call ([0-9]+) is not known to rdb: its result, its new mappings", str(cautions)
    )
    assert told == ["990", "992", "991", "993", "994", "995"]


def test_descriptors_of_calls_that_no_table_knows(tmp_path: Path) -> None:
    """A restart refuses while they are open, and goes on where they are not."""
    program = build("newer_calls.c", tmp_path)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    rdb = [sys.executable, "-m", "rdb"]
    run = [*rdb, "run", "--lax", "--name", "job", "--", program, "-", tmp_path / "file"]
    env = {**os.environ, "RDB_HOME": str(home)}
    done = deadlines.native([program, *run], check=False, env=env)
    assert done.returncode == 0, done.stderr
    index = open_job(home / "job").rank(0).index
    early, late = (index.record(place).event for place in index.of_calls(110))  # getppid
    for event, code, said in ((early, 125, "made by system call 99"), (late, 0, "")):
        restart = [*rdb, "restart", "job", "--at", str(event)]
        done = subprocess.run(restart, capture_output=True, text=True, check=False, env=env)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert done.stdout.splitlines()[-1].startswith("last: 9 102 ")


def test_an_unknown_call_without_lax(tmp_path: Path) -> None:
    """As on a kernel that is older than the call."""
    program = build("unknown_calls.c", tmp_path)
    made = record(tmp_path, program)
    assert made.result.returncode == 0, made.result.stderr
    assert made.result.stdout == deadlines.native([program]).stdout
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
    cautions = (made.rank_dir / "cautions").read_text(encoding="utf-8")
    assert "system call 999 cannot be recorded: it fails with" in cautions


def test_shared_memory_of_a_child_is_replayed(tmp_path: Path) -> None:
    made = record(tmp_path, build("calls_shared.c", tmp_path))
    child = made.rank_dir / "child-1"
    for directory in (made.rank_dir, child):
        code, answer = Made(directory, made.files, made.result).verify()
        assert (code, answer["ok"]) == (0, True), answer
        assert not (directory / "cautions").exists()


def test_scenario_24_a_replay_does_not_touch_the_mapped_file(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    file.write_bytes(b"before" + bytes(4090))
    code = (
        "import mmap, os\n"
        f"f = open({str(file)!r}, 'r+b')\n"
        "m = mmap.mmap(f.fileno(), 4096)\n"
        "m[0:5] = b'after'\n"
        "print(os.pread(f.fileno(), 5, 0))\n"
    )
    made = record(tmp_path, "/usr/bin/python3", "-c", code)
    assert made.result.stdout == "b'after'\n", made.result.stderr
    assert file.read_bytes()[:6] == b"aftere"
    assert not (made.rank_dir / "cautions").exists()
    file.write_bytes(b"changed since" + bytes(4083))
    made.expect_equal()
    assert file.read_bytes()[:13] == b"changed since"


def test_racy_shared_memory_is_named_where_it_was_seen(tmp_path: Path) -> None:
    """The parent spins on memory that its child writes.  If the child is not recorded there is no
    event, and nothing to replay it by."""
    program = build("shared_race.c", tmp_path, "-O1")
    (tmp_path / "both").mkdir()
    both = record(tmp_path / "both", program)
    assert both.result.stdout == "seen\n", both.result.stderr
    for directory in (both.rank_dir, both.rank_dir / "child-1"):
        code, answer = Made(directory, both.files, both.result).verify()
        assert (code, answer["ok"]) == (0, True), answer
        assert not (directory / "cautions").exists()

    made = record(tmp_path, program, options=("--no-children",))
    assert made.result.stdout == "seen\n", made.result.stderr
    cautions = (made.rank_dir / "cautions").read_text()
    assert "may be written by processes outside this rank: a replay may differ" in cautions
    code, answer = made.verify()
    assert code == 5
    said = re.search(
        r"between events (\d+) and (\d+) other processes wrote to shared memory at 0x\w+; the",
        str(answer["what"]),
    )
    assert said and int(said[2]) == int(said[1]) + 1 == answer["event"], answer


def test_timers_that_expire_while_their_signal_waits(tmp_path: Path) -> None:
    program = build("timer_overruns.c", tmp_path, "-O1")
    done = deadlines.native([program], check=False)
    assert set(done.stdout.partition("told")[2].splitlines()[:1]) == {
        ", overrun counted, asked the same, at first 0"
    }
    made = record(tmp_path, program, hash_every=1000)
    assert (made.result.returncode, made.result.stdout) == (0, done.stdout)
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


def test_timers_that_are_faster_than_the_program(tmp_path: Path) -> None:
    """One signal of each waits; what a timer sent before is as the kernel has it."""
    program = build("timer_short.c", tmp_path, "-O1")
    done = deadlines.native([program], check=False)
    assert "deleted 10 0:" in done.stdout and done.stdout.endswith("kept 1\n")
    made = record(tmp_path, program, hash_every=1000)
    assert (made.result.returncode, made.result.stdout) == (0, done.stdout)
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
    (tmp_path / "off").mkdir()
    off = record(tmp_path / "off", program, options=("--record", "off"))
    assert (off.result.returncode, off.result.stdout) == (0, done.stdout)


def test_flags_of_clone(tmp_path: Path) -> None:
    program = build("clone_flags.c", tmp_path, "-O1")
    done = deadlines.native([program], check=False)
    assert done.stdout.count("\n") > 800 and done.stdout.endswith("worker 0\n")
    made = record(tmp_path, program, hash_every=1000)
    assert made.result.returncode == 0
    assert made.result.stdout.splitlines() == done.stdout.splitlines()
    said = (made.rank_dir / "child-1" / "cautions").read_text()
    for what in (
        "a process that shares the caller's memory",
        "a process that shares the caller's descriptors",
        "a thread that suspends the calling thread (CLONE_VFORK)",
        "a thread that has its own clocks (CLONE_NEWTIME)",
    ):
        assert said.count(what) == 1, said
    assert said.count("\n") == 4, said
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
    child = Made(made.rank_dir / "child-1", made.files, made.result)
    code, answer = child.verify()
    assert (code, answer["ok"]) == (0, True), answer


SHARES = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int child(void *given) { return 0; }
int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	const pid_t pid = clone(child, stack + sizeof(stack), atoi(argv[1]) | SIGCHLD, 0);
	return pid < 0 || waitpid(pid, 0, 0) != pid;
}
"""


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (0x100, "the caller's memory"),
        (0x400, "the caller's descriptors"),
        (0x4100, None),
        (0x4900, "the caller's signal handlers"),
    ],
)
def test_what_processes_do_not_share_is_said(tmp_path: Path, flags: int, what: str | None) -> None:
    (tmp_path / "shares.c").write_text(SHARES)
    program = tmp_path / "shares"
    subprocess.run(["cc", "-w", "-o", program, tmp_path / "shares.c"], check=True)
    made = record(tmp_path, program, str(flags))
    assert made.result.returncode == 0
    cautions = made.rank_dir / "cautions"
    assert (what is None) == (not cautions.exists())
    assert (
        what is None or f"shares {what}: under rdb that process is a copy" in cautions.read_text()
    )
