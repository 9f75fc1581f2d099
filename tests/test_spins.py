"""Threads that wait by looking at memory, recorded: they give way at once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import Build, Rdb, replay_agrees

PROGRAM = Path(__file__).parent.parent / "bench/programs/spins.c"
SLICE_MS = 60_000
"""Longer than the test: whoever gives way has been seen to spin."""
STEPS = {"ep": 5, "cg": 40, "ft": 20, "bt": 20, "lu": 4, "lock": 60, "trylock": 60, "flags": 40}
REPLAYS = 3
RECORDINGS = 4
EVENTS_A_TURN = 40
"""Two if who waits is stopped once, and never where it has the lock that the other one needs."""
WAYS = ["yield", "sleep", "futex", "atomic", "flag", "spin-lock", "atomic-flag"]
ATOMIC_WAYS = [
    *("relaxed", "consume", "acquire", "ordered"),
    *("exchange-relaxed", "exchange-acquire", "exchange-both", "exchange-ordered"),
    *("add-relaxed", "add-both", "add-ordered", "flag", "mutex", "try"),
]


def result(said: str) -> str:
    return said.split()[2]


def gives_way(program: Path, kernel: str, rdb: Rdb) -> None:
    command = [str(program), kernel, str(STEPS[kernel]), "2"]
    native = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    done = rdb("run", "--slice", SLICE_MS, "--name", kernel, "--", *command)
    assert done.returncode == 0, done.stderr
    assert result(done.stdout) == result(native)
    assert len({replay_agrees(rdb, kernel) for _ in range(REPLAYS)}) == 1


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kernel", STEPS)
def test_whoever_spins_gives_way(kernel: str, flag: str, build: Build, rdb: Rdb) -> None:
    gives_way(build(PROGRAM, flag, "-fopenmp"), kernel, rdb)


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kind", ["word", "spin", "mutex", "backoff", "long", "rounds"])
def test_turns_of_a_spin_are_told_apart(kind: str, flag: str, build: Build, rdb: Rdb) -> None:
    """By what they count in memory, and nowhere else."""
    program = build("counting_spins.c", flag, "-pthread")
    for n in range(RECORDINGS):
        done = rdb("run", "--slice", 1, "--hash-every", 1, "--name", n, "--", program, kind, 3000)
        assert (done.returncode, done.stdout) == (0, "6000\n"), done.stderr
        replay_agrees(rdb, n)


def replays(program: Path, way: str, turns: int, rdb: Rdb, name: str = "way") -> None:
    command = [str(program), way, str(turns // 2)]
    native = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    done = rdb("run", "--slice", SLICE_MS, "--name", name, "--", *command)
    assert (done.returncode, done.stdout) == (0, native), done.stderr
    events = re.search(r"(\d+) events", replay_agrees(rdb, name))
    # who waits by calls makes as many as it likes
    assert events and (way in ("yield", "sleep", "futex") or int(events[1]) < turns * EVENTS_A_TURN)


@pytest.mark.parametrize("way", WAYS)
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
        done = rdb("run", "--name", n, "--", program, 300)
        assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
        replay_agrees(rdb, n)
