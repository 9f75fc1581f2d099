"""Threads that wait by looking at memory, recorded: they give way at once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import deadlines
import pytest
from alone import record
from conftest import Build, Rdb, replay_agrees
from spinning import PROGRAM, SLICE_MS, STEPS, gives_way

from rdb.recording import open_job
from rdb.recording.log.record import Note

RECORDINGS = 2
EVENTS_A_TURN = 40
"""Two if who waits is stopped once, and never where it has the lock that the other one needs."""
DEAR_EVENTS = 500
"""Thirty if each turn has half a slice of processor time; a thousand if turns are over at once."""
WAYS = ["yield", "sleep", "futex", "atomic", "flag", "spin-lock", "atomic-flag"]
ASKING_WAYS = [
    *("deadline", "date", "counter", "counter-of-a-processor", "delay", "counted-delay"),
    *("seconds", "day", "used-time", "usage", "parent", "receive", "read", "poll", "cpuid"),
    *("receive-until", "everything"),
]
"""They look at memory, and ask for something in each turn."""
ATOMIC_WAYS = [
    *("relaxed", "consume", "acquire", "ordered"),
    *("exchange-relaxed", "exchange-acquire", "exchange-both", "exchange-ordered"),
    *("add-relaxed", "add-both", "add-ordered", "flag", "mutex", "try"),
]


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kernel", STEPS)
def test_whoever_spins_gives_way(kernel: str, flag: str, build: Build, rdb: Rdb) -> None:
    gives_way(build(PROGRAM, flag, "-fopenmp"), kernel, rdb)


def test_a_loop_that_seldom_spins_is_known(build: Build, rdb: Rdb) -> None:
    """The flag is mostly there at the first look, and the first thread jumps over the loop."""
    program = build(PROGRAM, "-O2", "-fopenmp")
    done = rdb("run", "--slice", SLICE_MS, "--name", "lu", "--", program, "lu", 60, 2)
    assert done.returncode == 0, done.stderr
    stops = Counter(
        chunk.note
        for record in open_job("lu").rank(0).records()
        for chunk in record.chunks
        if record.thread == 2 and chunk.note in (Note.COUNTED, Note.MARK)
    )
    assert stops[Note.COUNTED] > 2 * stops[Note.MARK] > 0
    replay_agrees(rdb, "lu")


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kind", ["word", "spin", "mutex", "backoff", "long", "rounds"])
def test_turns_of_a_spin_are_told_apart(kind: str, flag: str, build: Build, rdb: Rdb) -> None:
    """By what they count in memory, and nowhere else."""
    program = build("counting_spins.c", flag, "-pthread")
    for n in range(RECORDINGS):
        done = rdb("run", "--slice", 1, "--hash-every", 1, "--name", n, "--", program, kind, 9000)
        assert (done.returncode, done.stdout) == (0, "18000\n"), done.stderr
        replay_agrees(rdb, n)


def test_turns_of_a_computation_are_told_apart(build: Build, rdb: Rdb) -> None:
    """By one word that goes on, among many that are at the end of a turn what they were."""
    program = build("counted_turns.c", "-O0", "-pthread")  # -O2 keeps addresses in registers
    for n in range(RECORDINGS):
        done = rdb("run", "--slice", 1, "--hash-every", 1, "--name", n, "--", program, 1000000)
        assert (done.returncode, done.stdout) == (0, "1000000\n"), done.stderr
        replay_agrees(rdb, n)


def test_a_processor_that_is_taken_away_in_between(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tells turns apart is looked for as long as elsewhere."""
    program = build("counted_turns.c", "-O0", "-pthread")
    late = build("late_clock.c", "-shared", "-fPIC")
    monkeypatch.setenv("LD_PRELOAD", str(late))
    made = record(tmp_path, program, "1500000", options=("--slice", "1"))
    assert (made.result.returncode, made.result.stdout) == (0, "1500000\n"), made.result.stderr
    monkeypatch.delenv("LD_PRELOAD")
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
    assert int(str(answer["events"])) > 12, "hardly stopped"


def test_a_turn_is_not_over_before_it_begins(build: Build, rdb: Rdb) -> None:
    """Even if the records of a turn take longer than a slice."""
    program = build("dear_events.c", "-O2", "-pthread")
    done = rdb("run", "--slice", 1, "--hash-every", 1, "--name", "dear", "--", program, 5000000)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    events = re.search(r"(\d+) events", replay_agrees(rdb, "dear"))
    assert events and int(events[1]) < DEAR_EVENTS


def said_of(turns: int) -> str:
    """Without rdb, on one processor, spinning for a lock that is not fair may take hours."""
    total = 0
    for turn in range(turns):
        total = (total * 3 + turn % 2) % (1 << 64)
    return f"{turns} {total}\n"


def replays(program: Path, way: str, turns: int, rdb: Rdb, name: str = "way") -> None:
    command = [str(program), way, str(turns // 2)]
    done = rdb("run", "--slice", SLICE_MS, "--name", name, "--", *command)
    assert (done.returncode, done.stdout) == (0, said_of(turns)), done.stderr
    events = re.search(r"(\d+) events", replay_agrees(rdb, name))
    # who waits by calls makes as many as it likes
    asks = way in ("yield", "sleep", "futex", *ASKING_WAYS)
    assert events and (asks or int(events[1]) < turns * EVENTS_A_TURN)


@pytest.mark.parametrize("way", [*WAYS, *ASKING_WAYS])
@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_every_way_to_wait_replays(way: str, flag: str, build: Build, rdb: Rdb) -> None:
    program = build("waiting_ways.c", flag, "-pthread")
    for n in range(RECORDINGS // 2):
        replays(program, way, 200, rdb, str(n))


@pytest.mark.parametrize("way", ATOMIC_WAYS)
@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_atomics_in_every_order_replay(way: str, flag: str, build: Build, rdb: Rdb) -> None:
    replays(build("atomic_ways.cc", flag, "-pthread"), way, 60, rdb)


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_a_thread_that_ends_is_stopped_nowhere(flag: str, build: Build, rdb: Rdb) -> None:
    program = build("counting_spins.c", flag, "-pthread")
    for n in range(RECORDINGS * 2):
        done = rdb("run", "--name", n, "--", program, "turns", 50)
        assert (done.returncode, done.stdout) == (0, "100\n"), done.stderr
        replay_agrees(rdb, n)


def test_more_threads_than_processors(build: Build, rdb: Rdb) -> None:
    command = [str(build(PROGRAM, "-O2", "-fopenmp")), "flags", "20", "5"]
    done = rdb("run", "--slice", SLICE_MS, "--name", "five", "--", *command)
    assert done.returncode == 0, done.stderr
    replay_agrees(rdb, "five")


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_signals_and_a_fork_between_turns(flag: str, build: Build, rdb: Rdb) -> None:
    program = build("spin_forks.c", flag, "-pthread")
    for n in range(RECORDINGS):
        # Frames of signals hold all flags, also those that mean nothing.
        hashes = ("--hash-every", 1) if n == 0 else ()
        done = rdb("run", "--name", n, *hashes, "--", program, 100)
        assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
        replay_agrees(rdb, n)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("way", ["probe", "test", "clock", "all"])
def test_who_asks_mpi_in_each_look_gives_way(way: str, mpi: str, build: Build, rdb: Rdb) -> None:
    flags = ("-O2", "-fopenmp")
    program = build("mpi/threads_look.c", *flags, compiler=f"mpicc.{mpi}")
    done = rdb("run", "--slice", SLICE_MS, "--name", "look", "-n", 1, "--", program, way, 30)
    native = deadlines.native([program, way, "30"])
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    replay_agrees(rdb, "look")


@pytest.mark.parametrize("way", ["deadline", "counter", "receive"])
def test_who_asks_gives_way_in_a_branch_too(way: str, build: Build, rdb: Rdb) -> None:
    """There the counter traps, also where the recorder itself reads it."""
    command = [str(build("waiting_ways.c", "-O2", "-pthread")), way, "100"]
    recorded = rdb("run", "--slice", SLICE_MS, "--name", "way", "--", *command)
    branch = rdb("restart", "way", "--at", 100)
    assert (recorded.returncode, branch.returncode) == (0, 0), branch.stderr
    assert branch.stdout == recorded.stdout
    replay_agrees(rdb, "way-branch-1")
