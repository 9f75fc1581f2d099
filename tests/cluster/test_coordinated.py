"""Checkpoints without a log of jobs on several hosts: their relays agree, and other hosts go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import INCLUDE, Build

from cluster.conftest import Cluster
from cluster.host import until
from rdb.recording import open_job

pytestmark = pytest.mark.cluster
RANKS = 3


class Half:
    """A job on two hosts with two checkpoints; it went on after both."""

    def __init__(self, ssh: Cluster, program: Path) -> None:
        self.ssh = ssh
        self.env = {"RDB_HOME": str(ssh.folder / "home")}
        self.gate, self.output = ssh.folder / "gate", ssh.folder / "half.out"
        hosts = ssh.host_file("two", "node1 slots=2", "node2 slots=1")
        line = ["run", "--record=off", "-n", str(RANKS), "--hosts", hosts, "--name", "half"]
        job = ssh.head.start(
            *(*ssh.command, *line, "--", program, "20", self.gate),
            env=self.env,
            output=self.output,
        )
        until(
            "rank 0 in its computation", lambda: "\nhalf\n" in self.said() or job.poll() is not None
        )
        self.taken = [self.rdb("checkpoint", "half", "--timeout", "60") for _ in range(2)]
        job_home = Path(self.env["RDB_HOME"]) / "half"
        self.centre = json.loads((job_home / "relay.json").read_text(encoding="ascii"))
        node = next(one for one in ssh.hosts if one.name == self.centre["name"])
        self.listens = node.run("ss", "-ltnH", f"sport = {self.centre['port']}").stdout.split()[3]
        self.gate.touch()
        assert job.wait(90) == 0, self.said()
        self.sums = sums(self.said())

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def rdb(self, *words: str | Path):  # type: ignore[no-untyped-def]
        return self.ssh.head.rdb(*words, env=self.env)


def sums(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if line.startswith("rank "))


@pytest.fixture(scope="module")
def half(ssh: Cluster, build: Build) -> Half:
    return Half(ssh, build("mpi/coordinated_mpi.c"))


def test_ranks_of_several_hosts_have_a_checkpoint(half: Half) -> None:
    for number, taken in enumerate(half.taken, 1):
        assert taken.returncode == 0, taken.stderr
        assert [line.split(",")[0] for line in taken.stdout.splitlines()] == [
            f"rank {rank}: checkpoint {number}" for rank in range(RANKS)
        ]
    assert len(half.sums) == RANKS
    assert half.listens == f"{half.centre['host']}:{half.centre['port']}"
    assert f"its newest checkpoint is {len(half.taken)}" in half.said()
    shown = half.rdb("info", "half").stdout
    assert shown.count("exited 0") == RANKS and "ckpt:1, ckpt:2" in shown
    assert half.rdb("ls").stdout.count("exited 0") == 1
    assert half.rdb("checkpoint", "half").returncode != 0  # it has ended


@pytest.mark.parametrize(
    ("lines", "number"),
    [(("node4 slots=3",), 1), (("node2 slots=1", "node3 slots=2"), 2)],
    ids=["one", "two"],
)
def test_it_goes_on_on_other_hosts(half: Half, lines: tuple[str, ...], number: int) -> None:
    hosts = half.ssh.host_file("other", *lines)
    name = f"other-{number}"
    options = ("--at", f"ckpt:{number}", "--hosts", hosts, "--name", name)
    done = half.rdb("restart", "half", *options)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == half.sums
    job = open_job(half.ssh.folder / "home" / name)
    placed = [str(job.rank(rank).meta["host"]) for rank in job.ranks]
    assert set(placed) == {line.split()[0] for line in lines}


def test_another_number_of_ranks_on_other_hosts(ssh: Cluster, build: Build) -> None:
    """The program starts anew there, with the arrays of the checkpoint."""
    env = {"RDB_HOME": str(ssh.folder / "home-n")}
    program = build("mpi/redistribute.c", f"-I{INCLUDE}")
    before = ssh.host_file("before", "node1 slots=1", "node2 slots=1")
    after = ssh.host_file("after", "node3 slots=2", "node4 slots=1")
    line = ["run", "--record=off", "-n", 2, "--hosts", before, "--name", "two", "--", program, 5]
    two = ssh.head.rdb(*line, env=env)
    assert two.returncode == 0, two.stderr
    three = ssh.head.rdb("restart", "two", "-n", 3, "--hosts", after, "--name", "three", env=env)
    assert three.returncode == 0, three.stderr
    assert "3 ranks from step" in three.stdout and "from step 0" not in three.stdout
    assert two.stdout.splitlines()[-1] in three.stdout.splitlines()


def test_under_slurm(slurm: Cluster, build: Build) -> None:
    """Ranks on two nodes; from their checkpoint it goes on on one."""
    env = {"RDB_HOME": str(slurm.folder / "home")}
    gate, output = slurm.folder / "gate", slurm.folder / "slurm.out"
    two = slurm.host_file("nodes", "slurm1 slots=2", "slurm2 slots=1")
    line = [*slurm.command, "run", "--record=off", "-n", "3", "--launcher", "srun"]
    line += ["--hosts", str(two), "--name", "half", "--"]
    line += [str(build("mpi/coordinated_mpi.c")), "20", str(gate)]
    job = slurm.head.start(*line, env=env, output=output)

    def half() -> bool:
        return job.poll() is not None or "\nhalf\n" in output.read_text()

    until("rank 0 in its computation", half)
    taken = slurm.head.rdb("checkpoint", "half", "--timeout", "60", env=env)
    gate.touch()
    assert job.wait(90) == 0, output.read_text()
    assert taken.returncode == 0, taken.stderr
    hosts = slurm.host_file("one", "slurm3:3")
    options = ("--launcher", "srun", "--hosts", hosts, "--name", "again")
    done = slurm.head.rdb("restart", "half", *options, env=env)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == sums(output.read_text())
    ranks = open_job(slurm.folder / "home" / "again")
    assert {str(ranks.rank(rank).meta["host"]) for rank in ranks.ranks} == {"slurm3"}
