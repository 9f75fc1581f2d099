"""What a restart, or an order, of MPI may not lose: messages that were too large, the time."""

from __future__ import annotations

import json

import pytest
from conftest import Build, Rdb
from mpis import launch, needs


@pytest.mark.parametrize(("mpi", "sizes"), [("openmpi", "small"), ("mpich", "all")])
def test_a_truncated_message_is_taken(mpi: str, sizes: str, build: Build, rdb: Rdb) -> None:
    """The next one of its sender is received after it, also in a restart and as an order."""
    needs(mpi)
    program = build("mpi/truncated.c", "-O1", compiler=f"mpicc.{mpi}")
    native = launch(mpi, 2, program, sizes).stdout.splitlines()
    for name in ("full", "order"):
        options = (f"--mpi={mpi}", f"--record={name}", "--hash-every", "1", "--name", name)
        done = rdb("run", "-n", "2", *options, "--", program, sizes)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == native
        replayed = rdb("replay", name, "--verify")
        assert replayed.returncode == 0, replayed.stderr
        assert replayed.stdout.count("hashes agree") == 2
        queues = json.loads(rdb("messages", name, "--json").stdout)
        assert [(one["posted"], one["incoming"]) for one in queues] == [([], []), ([], [])]
    middle = json.loads(rdb("info", "full", "--json").stdout)["ranks"][0]["events"] // 2
    branch = rdb("restart", "full", f"--mpi={mpi}", "--rank", "0", "--at", str(middle))
    assert branch.returncode == 0, branch.stderr
    said = branch.stdout.splitlines()
    assert said and said == native[-len(said) :]


@pytest.mark.parametrize("below", ["openmpi", "mpich"])
def test_wtime_goes_on(below: str, build: Build, rdb: Rdb) -> None:
    """Each MPI counts from another moment, Open MPI from the process' beginning."""
    needs(below)
    program = build("mpi/wtime.c", "-O1", "-w", compiler=f"mpicc.{below}")
    done = rdb("run", f"--mpi={below}", "-n", "2", "--name", "time", "--", program)
    assert (done.returncode, done.stdout.split()) == (0, ["good"] * 2), done.stderr
    at = json.loads(rdb("info", "time", "--json").stdout)["ranks"][0]["events"] - 40
    for onto in ("openmpi", "mpich"):
        needs(onto)
        branch = rdb("restart", "time", f"--mpi={onto}", "--rank", "0", "--at", str(at))
        assert (branch.returncode, branch.stdout.split()) == (0, ["good"] * 2), branch.stderr
