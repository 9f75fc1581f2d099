"""Slurm: ranks started by srun, restarts in other shapes, a batch job that is requeued."""

from __future__ import annotations

import re

import pytest
from conftest import Build

from cluster.conftest import Cluster
from cluster.host import until
from rdb.recording import open_job

pytestmark = pytest.mark.cluster

# docs/clusters.md shows it, too.
_BATCH = """#!/bin/bash
#SBATCH -N 2 -n 4 --requeue --open-mode=append
trap 'rdb checkpoint first; scontrol requeue $SLURM_JOB_ID' TERM
if [ "${{SLURM_RESTART_COUNT:-0}}" -eq 0 ]; then
    rdb run -n 4 --launcher srun --name first -- {program} {stop} &
else
    rdb restart first --launcher srun --name second &
fi
wait
"""


def test_srun_and_restarts_in_other_shapes(slurm: Cluster, build: Build) -> None:
    env = {"RDB_HOME": str(slurm.folder / "home")}
    program = build("mpi/restarted.c")
    line = ["srun", "-N4", "-n4", "--mpi=pmix", *slurm.command, "exec", "--name", "job", "--"]
    done = slurm.head.run(*line, program, env=env)
    assert done.returncode == 0, done.stderr
    for name, lines, placed in (
        ("two", ("slurm1 slots=2", "slurm3:2"), ["slurm1", "slurm1", "slurm3", "slurm3"]),
        ("one", ("slurm4:4",), ["slurm4"] * 4),
    ):
        hosts = slurm.host_file("shape", *lines)
        options = ("--at", "100", "--launcher", "srun", "--hosts", hosts, "--name", name)
        again = slurm.head.rdb("restart", "job", *options, env=env)
        assert again.returncode == 0, again.stderr
        assert sorted(again.stdout.split()) == sorted(done.stdout.split())
        job = open_job(slurm.folder / "home" / name)
        assert [job.rank(rank).meta["host"] for rank in job.ranks] == placed


def test_replays_in_an_allocation(slurm: Cluster, build: Build) -> None:
    env = {"RDB_HOME": str(slurm.folder / "home")}
    line = ["srun", "-N1", "-n2", "--mpi=pmi2", *slurm.command, "exec", "--name", "replayed", "--"]
    done = slurm.head.run(*line, build("mpi/ring.c"), env=env)
    assert done.returncode == 0, done.stderr
    words = ["replay", "replayed", "--verify"]
    here = slurm.head.rdb(*words, env=env)
    assert here.returncode == 0 and here.stdout.count("agree") == 2, here.stderr
    alone = slurm.head.rdb(*words, "--on", "slurm", env=env)
    assert (alone.returncode, "no allocation" in alone.stderr) == (2, True)
    there = slurm.head.run("salloc", "-Q", "-N2", *slurm.command, *words, "--on", "slurm", env=env)
    assert (there.stdout, there.stderr, there.returncode) == (here.stdout, "", 0)


def test_the_order_of_messages_expanded_by_srun(slurm: Cluster, build: Build) -> None:
    """By as many hosts as it had, and by one."""
    env = {"RDB_HOME": str(slurm.folder / "home")}
    program = build("mpi/payloads.c", "-O1")
    one = slurm.host_file("one", "slurm4:4")
    for name, hosts in (("order", ()), ("order-of-one", ("--launcher", "srun", "--hosts", one))):
        line = ["srun", "-N4", "-n4", "--mpi=pmix", *slurm.command, "exec", "--record=order"]
        done = slurm.head.run(*line, "--name", name, "--", program, env=env)
        assert done.returncode == 0, done.stderr
        expanded = slurm.head.rdb("expand", name, *hosts, env=env)
        assert expanded.returncode == 0, expanded.stderr
        assert "a replay of all ranks regenerated" in expanded.stderr
        verified = slurm.head.rdb("replay", name, env=env)
        assert verified.returncode == 0 and verified.stdout.count("agree") == 4, verified.stderr


def test_mpich_under_srun(slurm: Cluster, build: Build) -> None:
    env = {"RDB_HOME": str(slurm.folder / "home")}
    line = ["srun", "-N1", "-n4", "--mpi=pmi2", *slurm.command, "exec", "--name", "pmi", "--"]
    done = slurm.head.run(*line, build("mpi/ring.c"), env=env)
    assert done.returncode == 0, done.stderr
    verified = slurm.head.rdb("replay", "pmi", "--verify", env=env)
    assert verified.returncode == 0 and verified.stdout.count("agree") == 4, verified.stderr


def test_a_requeued_job_goes_on(slurm: Cluster, build: Build) -> None:
    """SIGTERM before the time is over: a checkpoint of all ranks; in its next life, a restart."""
    home, stop = slurm.folder / "requeued", slurm.folder / "requeued.stop"
    output = slurm.folder / "requeued.out"
    rdb = slurm.folder / "rdb"
    rdb.write_text(f'#!/bin/sh\nexec {" ".join(slurm.command)} "$@"\n')
    rdb.chmod(0o755)
    env = {"RDB_HOME": str(home), "PATH": f"{slurm.folder}:{slurm.head.environment()['PATH']}"}
    script = slurm.folder / "batch.sh"
    script.write_text(_BATCH.format(program=build("mpi/live.c", "-O0"), stop=stop))
    given = slurm.head.run("sbatch", "-o", output, script, env=env)
    assert given.returncode == 0, given.stderr
    number = given.stdout.split()[-1]
    turns = _Turns(output)
    until("four ranks that work", lambda: turns.of_all() >= 3)
    sent = slurm.head.run("scancel", "--batch", "--signal=TERM", number)
    assert sent.returncode == 0, sent.stderr
    until("a checkpoint of all", lambda: output.read_text().count(": checkpoint 1 at event") == 4)
    until("it waits for its next life", lambda: _state(slurm, number) == "PD")
    before = turns.of_all()
    # Else it waits two minutes, in case the first nodes are to blame.  slurmd refuses a job that
    # comes in the second in which it has killed the one before.
    soon = slurm.head.run("scontrol", "update", f"jobid={number}", "starttime=now+2seconds")
    assert soon.returncode == 0, soon.stderr
    until("it goes on", lambda: turns.of_all() > before + 2)
    stop.touch()
    until("it ends", lambda: "recorded job second" in output.read_text())
    assert "a branch of first at event" in output.read_text()
    # each turn was made once, but for those that were printed and had not been logged
    turns_of_0 = turns.of(0)
    assert turns_of_0 == sorted(turns_of_0)
    assert set(range(max(turns_of_0) + 1)) == set(turns_of_0)


class _Turns:
    """What the ranks have printed."""

    def __init__(self, output):  # type: ignore[no-untyped-def]
        self._output = output

    def of(self, rank: int) -> list[int]:
        text = self._output.read_text() if self._output.exists() else ""
        return [int(one) for one in re.findall(rf"^rank {rank} turn (\d+)$", text, re.M)]

    def of_all(self) -> int:
        """The turn that all have come to."""
        return min(max(self.of(rank), default=-1) for rank in range(4))


def _state(slurm: Cluster, number: str) -> str:
    return slurm.head.run("squeue", "-h", "-j", number, "-o", "%t").stdout.strip()
