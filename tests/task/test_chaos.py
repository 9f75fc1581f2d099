"""`rdb run --chaos`: rare orders become frequent, and each of them is replayed as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, Rdb, replay_agrees

RARE = Path(__file__).parents[2] / "bench/programs/rare.c"
MOST = 200
"""All of these miss a mistake that one of ten runs shows once in 10^9 times; recorded without
--chaos, hundreds do not show it."""


@pytest.mark.parametrize("mistake", ["check_then_act", "lost_increment", "torn"])
def test_a_rare_mistake_is_shown_and_replayed(mistake: str, build: Build, rdb: Rdb) -> None:
    program = build(RARE, "-O2", "-pthread")
    for number in range(MOST):
        name = f"{mistake}-{number}"
        done = rdb("run", "--chaos", "--hash-every", "1", "--name", name, "--", program, mistake)
        assert done.returncode in (0, 1), done.stderr
        replay_agrees(rdb, name)
        if done.returncode == 1:
            return
    pytest.fail(f"{MOST} runs have not shown it")


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kind", ["mutex", "omp", "spin"])
def test_what_is_right_stays_right(kind: str, flag: str, build: Build, rdb: Rdb) -> None:
    rounds = 100
    program = build("greedy_lock.c", flag, "-fopenmp")
    done = rdb("run", "--chaos", "--name", kind, "--", program, kind, rounds)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(sum(range(rounds)))]
    replay_agrees(rdb, kind)


HOW_RECEIVED = ["recv", "irecv", "probe", "iprobe", "mprobe", "improbe"]


@pytest.mark.parametrize("how", [*HOW_RECEIVED, "sendrecv", "sendrecv_replace"])
def test_any_source_takes_any_message(how: str, build: Build, rdb: Rdb) -> None:
    """Ten times two messages wait.  All have one order in (2/3)^10 of the runs, since the receiver,
    which sends nothing, is picked as often; three runs in a row once in 200,000 times."""
    program = build("mpi/any_source.c")
    for number in range(3):
        done = rdb("run", "--chaos", "-n", "3", "--name", f"{number}", "--", program, how)
        assert done.returncode == 0, done.stderr
        replay_agrees(rdb, str(number))
        rounds = done.stdout.splitlines()
        assert len(rounds) == 10 and set(rounds) <= {"1 2", "2 1"}
        if len(set(rounds)) == 2:
            return
    pytest.fail("messages always came in the same order")


def test_chaos_needs_a_log(rdb: Rdb) -> None:
    for command in (["run", "--chaos", "--record=off", "--"], ["exec", "--chaos", "--record=off"]):
        done = rdb(*command, "true")
        assert done.returncode == 2
        assert "--chaos needs a recording, not --record=off" in done.stderr
