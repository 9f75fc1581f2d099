"""The boundary: programs recorded and replayed alone, memory compared at every event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from alone import BUILDS, build, record

from rdb.paths import rdb_exec_path
from rdb.recording import Kind, RankRecording


@pytest.mark.parametrize("how", BUILDS)
@pytest.mark.parametrize("source", ["basics.c", "memory.c", "clocks.c", "objects.cc"])
def test_replay_equals_the_recording_at_every_event(source: str, how: str, tmp_path: Path) -> None:
    program = build(source, tmp_path, *BUILDS[how])
    made = record(tmp_path, program, "one", "two words")
    assert made.result.returncode == (3 if source == "basics.c" else 0), made.result.stderr
    assert made.result.stdout
    made.expect_equal()


@pytest.mark.parametrize(
    "command",
    [
        ["/bin/ls", "-la", "/"],
        ["/usr/bin/sort", "/etc/passwd"],
        ["perl", "-e", "print time, rand"],
        ["/usr/bin/python3", "-c", "import json, random; print(json.dumps(random.random()))"],
    ],
    ids=lambda c: Path(c[0]).name,
)
def test_programs_of_the_distribution(command: list[str], tmp_path: Path) -> None:
    made = record(tmp_path, *command)
    assert made.result.returncode == 0, made.result.stderr
    made.expect_equal()


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("segv", -signal.SIGSEGV),
        ("abort", -signal.SIGABRT),
        ("kill", -signal.SIGKILL),
        ("term", -signal.SIGTERM),
        ("exit3", 3),
        ("segv-handler", 40 + signal.SIGSEGV),
        ("handlers", 0),
        ("return", 0),
    ],
)
def test_scenario_27_every_end_leaves_a_whole_recording(
    how: str, code: int, tmp_path: Path
) -> None:
    made = record(tmp_path, build("faults.c", tmp_path), how)
    assert made.result.returncode == code
    assert made.result.stdout.startswith(f"how: {how}\n")
    made.expect_equal(at_end=how != "kill")


def test_scenario_27_killed_from_outside_in_a_loop(tmp_path: Path) -> None:
    program = build("faults.c", tmp_path)
    (tmp_path / "rank-0").mkdir()
    (tmp_path / "files").mkdir()
    with subprocess.Popen(
        [
            rdb_exec_path(),
            "--dir",
            tmp_path / "rank-0",
            "--files",
            tmp_path / "files",
            "--hash-every",
            "1",
            "--",
            program,
            "spin",
        ],
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"how: spin\n"
        running.send_signal(signal.SIGTERM)
        assert deadlines.wait(running, 90) == -signal.SIGTERM
    log = (tmp_path / "rank-0" / "log-000000.seg").read_bytes()
    assert log.count(b"\0" * 64) < 10, "the segment was not trimmed: no clean end"


@pytest.mark.parametrize("how", ["pie", "static", "optimised"])
def test_signals_at_system_calls(how: str, tmp_path: Path) -> None:
    program = build("signals.c", tmp_path, *BUILDS[how])
    native = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    made.expect_equal()


def test_a_signal_in_a_long_computation_is_delivered_at_its_place(tmp_path: Path) -> None:
    program = build("spin_until_alarm.c", tmp_path, "-O1")
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, "alarm\n"), made.result.stderr
    made.expect_equal()


@pytest.mark.parametrize("how", ["pie", "static"])
def test_cpuid_is_answered_from_the_log(how: str, tmp_path: Path) -> None:
    """It names the core, and a replay may run on another one."""
    made = record(tmp_path, build("cpuid_cores.c", tmp_path, *BUILDS[how]))
    assert made.result.stdout == "1, AVX512F 0\n", made.result.stderr
    made.expect_equal()


def test_cpuid_in_text_that_the_program_makes(tmp_path: Path) -> None:
    """As a Java machine's: which core it runs on is the log's answer; each core's replay is equal,
    also from a checkpoint that is older than the text."""
    options = ("--checkpoint-every", "3")
    made = record(tmp_path, build("made_text.c", tmp_path), options=options)
    assert (made.result.returncode, made.result.stdout) == (0, "maps: rwxp\n7\n")
    records = RankRecording(made.rank_dir, made.files).records()
    assert sum(r.kind is Kind.TSC and r.nr == 4 for r in records) >= 256
    for core in sorted(os.sched_getaffinity(0))[:4]:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})
        try:
            made.expect_equal()
        finally:
            os.sched_setaffinity(0, before)
    for number in range(1, 4):
        code, answer = made.verify("--checkpoint", str(number))
        assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("kind", ["private", "shared", "twice", "follows", "remapped"])
def test_interrupted_in_text_that_the_program_rewrites(kind: str, tmp_path: Path) -> None:
    """Where a replay is to stop, there may be other instructions before, or half of one."""
    made = record(tmp_path, build("rewritten_text.c", tmp_path), kind, "24")
    assert (made.result.returncode, made.result.stdout.count("\n") >= 24) == (0, True)
    records = RankRecording(made.rank_dir, made.files).records()
    assert any(r.kind is Kind.PREEMPT for r in records)
    made.expect_equal()


@pytest.mark.parametrize(
    "source",
    [
        "signals_waits.c",
        "signals_queued.c",
        "signals_between.c",
        "signals_futex.c",
        "signals_timed.c",
        "signals_sent.c",
        "signals_sockets.c",
        "threads_dontwait.c",
    ],
)
def test_signals_as_natively(source: str, tmp_path: Path) -> None:
    program = build(source, tmp_path, "-pthread", "-O1")
    native = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    made.expect_equal()


@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize(
    ("how", "codes"),
    [
        ("plain", [-signal.SIGSEGV]),  # no room for the handler's frame: the kernel kills
        ("alternate", [7]),
        ("small", [-signal.SIGSEGV, 7]),  # a frame is as large as the processor's registers are
        ("timer", [-signal.SIGSEGV]),
        ("timer-alternate", [7]),
    ],
)
def test_a_stack_overflow(how: str, where: str, codes: list[int], tmp_path: Path) -> None:
    program = build("stack_overflow.c", tmp_path, "-pthread")
    native = deadlines.native([program, where, how], check=False)
    assert native.returncode in codes
    made = record(tmp_path, program, where, how)
    assert (made.result.returncode, made.result.stdout) == (native.returncode, native.stdout)
    made.expect_equal(at_end=how != "timer")  # the newest event has no hash but that of the end


def test_a_signal_is_heard_that_comes_when_a_call_has_been_answered(tmp_path: Path) -> None:
    made = record(tmp_path, build("signals_late.c", tmp_path, "-O1"), hash_every=0)
    assert (made.result.returncode, made.result.stdout) == (0, "all were heard\n")
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize(
    "source",
    [
        "threads.c",
        "threads_mutex.c",
        "threads_turns.c",
        "threads_many.c",
        "threads_cancel.c",
        "threads_polls.c",
    ],
)
def test_threads(source: str, tmp_path: Path) -> None:
    # hashes of all stacks at each of thousands of events would take most of the time
    every = 20 if source == "threads_many.c" else 1
    made = record(tmp_path, build(source, tmp_path, "-pthread"), hash_every=every)
    assert made.result.returncode == 0, made.result.stderr
    made.expect_equal(every=every)


@pytest.mark.parametrize("source", ["threads_mutex.c", "threads_turns.c"])
def test_threads_without_a_recording(source: str, tmp_path: Path) -> None:
    program = build(source, tmp_path, "-pthread")
    native = deadlines.native([program])
    for _ in range(5):
        command = [rdb_exec_path(), "--dir", tmp_path, "--files", tmp_path, "--record=off", "--"]
        done = deadlines.native([*command, program], check=False)
        assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr


def test_reads_that_a_reminder_interrupts_are_whole(tmp_path: Path) -> None:
    program = build("threads_reads.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, hash_every=10**6, options=("--slice", "1"))
    assert (made.result.returncode, made.result.stdout) == (0, "0 were short\n")
    made.expect_equal(every=10**6)


def test_a_race_has_one_outcome_in_every_replay(tmp_path: Path) -> None:
    program = build("threads_race.c", tmp_path, "-pthread")
    made = record(tmp_path, program, options=("--slice", "1"))
    assert made.result.returncode == 0, made.result.stderr
    answers = {json.dumps(made.verify()) for _ in range(20)}
    assert len(answers) == 1
    made.expect_equal()


def test_output_is_the_same_as_without_rdb(tmp_path: Path) -> None:
    program = build("memory.c", tmp_path)
    native = deadlines.native([program]).stdout
    made = record(tmp_path, program)
    assert made.result.stdout.split()[-1] == native.split()[-1]


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(bytes(data))


def test_a_flipped_bit_in_the_log_is_named_not_replayed(tmp_path: Path) -> None:
    made = record(tmp_path, build("basics.c", tmp_path))
    log = made.rank_dir / "log-000000.seg"
    damage(log, log.stat().st_size // 2)
    code, answer = made.verify()
    assert code == 5
    assert "log-000000.seg: offset" in str(answer["what"]), answer


def test_a_damaged_image_is_refused(tmp_path: Path) -> None:
    made = record(tmp_path, build("basics.c", tmp_path))
    damage(made.rank_dir / "ckpt-000000.img", 300)
    code, answer = made.verify()
    assert code == 5
    assert "ckpt-000000.img" in str(answer["what"]), answer


def test_another_version_is_refused(tmp_path: Path) -> None:
    made = record(tmp_path, build("basics.c", tmp_path))
    image = made.rank_dir / "ckpt-000000.img"
    data = bytearray(image.read_bytes())
    data[8:12] = (99).to_bytes(4, sys.byteorder)
    image.write_bytes(bytes(data))
    code, answer = made.verify()
    assert code == 3
    assert "image v99, this rdb reads v5" in str(answer["what"])


def test_replay_touches_no_file(tmp_path: Path) -> None:
    """Scenario 21 at the level of a whole replay."""
    target = tmp_path / "out.txt"
    target.write_text("before\n")
    made = record(
        tmp_path,
        "/usr/bin/python3",
        "-c",
        f"f = open({str(target)!r}, 'a'); f.write('more\\n'); f.close()",
    )
    assert target.read_text() == "before\nmore\n"
    target.write_text("changed since\n")
    made.expect_equal()
    assert target.read_text() == "changed since\n"
