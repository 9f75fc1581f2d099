"""Heat, a program of windows and LAMMPS: checkpoints at ten random moments of a run on four hosts.

From each of them the job goes on over the other MPI, its ranks placed otherwise: all results are
those of a run without rdb.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Build
from melt import melt, thermo

from cluster.conftest import Cluster
from cluster.host import until
from rdb.recording import open_job

pytestmark = pytest.mark.cluster
MOMENTS = 10
TIMEOUT_S = 180.0
HEAT = Path(__file__).parents[2] / "demos" / "heat" / "heat.c"
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}
# Which of the four nodes has how many ranks; they were one on each, in order.
SHAPES = (((2, 2), (4, 2)), ((3, 4),), ((4, 1), (2, 1), (3, 1), (1, 1)), ((1, 3), (3, 1)))


class Show:
    """A program with a rank on each of four hosts, and what it makes without rdb."""

    def __init__(self, cluster: Cluster, mpi: str, *command: str | Path) -> None:
        self.cluster, self.mpi, self.command = cluster, mpi, command
        self.name = Path(command[0]).name
        self.folder = cluster.folder / f"moments-{self.name}"
        self.folder.mkdir()
        self.pace = self.folder / "pace"
        self.env = {
            "RDB_HOME": str(cluster.folder / "home"),
            "OMPI_MCA_osc": "pt2pt,sm",  # its osc/rdma crashes, also without rdb
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        self.launcher = "srun" if "slurm" in cluster.head.name else "ssh"

    def native(self, *names: str) -> tuple[str, dict[str, bytes]]:
        """What it prints, and the files of these names that it writes."""
        line = ["mpirun", "-n", "4", "--oversubscribe", "--bind-to", "none"]
        head = self.cluster.head
        done = head.run(*line, *self.command, cwd=self.folder, env=self.env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout, {name: self.taken(name) for name in names}

    def taken(self, name: str) -> bytes:
        path = self.folder / name
        data = path.read_bytes()
        path.unlink()
        return data

    def by_itself(self, every: str) -> tuple[str, list[int]]:
        """What it prints, and ten of the checkpoints of rank 0."""
        line = self.line("--checkpoint-every", every)
        done = self.cluster.head.run(*line, cwd=self.folder, env=self.env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        images = open_job(Path(self.env["RDB_HOME"]) / self.name).rank(0).checkpoints
        numbers = [number for number, _ in images if number]
        return done.stdout, sorted(random.sample(numbers, MOMENTS))

    def line(self, *options: str) -> list[str]:
        hosts = self.hosts(((1, 1), (2, 1), (3, 1), (4, 1)))
        line = ["run", "-n", "4", *hosts, "--mpi", self.mpi, "--name", self.name, *options, "--"]
        return [*map(str, (*self.cluster.command, *line, *self.command))]

    def recorded(self) -> tuple[str, list[int]]:
        """What it printed meanwhile, and the checkpoints of rank 0."""
        self.pace.touch()
        output = self.folder / "output"
        job = self.cluster.head.start(*self.line(), cwd=self.folder, env=self.env, output=output)
        try:
            home = Path(self.env["RDB_HOME"]) / self.name
            until("it has begun", lambda: len(list(home.glob("rank-*/ckpt-000000.img"))) == 4)
            for _ in range(MOMENTS):
                time.sleep(random.uniform(0, 0.4))  # the moment is what is chosen here
                asked = self.rdb("checkpoint", self.name, "--timeout", "60")
                assert asked.returncode == 0, asked.stderr + output.read_text()
            self.pace.unlink()
            assert job.wait(TIMEOUT_S) == 0, output.read_text()
        finally:
            job.kill()
            job.wait()
        text = output.read_text()
        numbers = [number for number, _ in open_job(home).rank(0).checkpoints if number]
        assert len(numbers) >= MOMENTS
        return text, numbers[:MOMENTS]

    def goes_on(self, number: int) -> tuple[str, Path]:
        """Another shape for each; what it prints, and its directory."""
        name = f"{self.name}-{number}"
        shape = SHAPES[number % len(SHAPES)]
        options = ("--at", f"ckpt:{number}", "--mpi", OTHER[self.mpi], "--name", name)
        done = self.rdb("restart", self.name, *options, *self.hosts(shape))
        assert done.returncode == 0, f"{number}: {done.stderr}"
        branch = open_job(Path(self.env["RDB_HOME"]) / name)
        placed = [self.node(node) for node, ranks in shape for _ in range(ranks)]
        assert [branch.rank(rank).meta["host"] for rank in branch.ranks] == placed
        assert [rank.state for rank in branch.all_ranks()] == ["exited 0"] * 4
        return done.stdout, branch.path

    def rdb(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.cluster.head.rdb(*words, cwd=self.folder, env=self.env, timeout_s=TIMEOUT_S)

    def hosts(self, shape: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
        lines = [f"{self.node(node)}:{ranks}" for node, ranks in shape]
        file = self.cluster.host_file(f"moments-{self.name}.hosts", *lines)
        return ("--launcher", self.launcher, "--hosts", str(file))

    def node(self, number: int) -> str:
        return self.cluster.hosts[number].name

    def lose_branch(self, path: Path) -> None:
        shutil.rmtree(path)


@pytest.fixture(params=["ssh", "slurm"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Cluster)
    return found


def flags(cluster: Cluster, name: str, tenths: int) -> list[str | Path]:
    header = Path(__file__).parents[1] / "programs" / "mpi" / "paced.h"
    pace = cluster.folder / f"moments-{name}" / "pace"
    return ["-O1", "-include", header, f'-DPACE="{pace}"', f"-DPACE_TENTHS={tenths}"]


def heat(cluster: Cluster, build: Build) -> Show:
    """As far as it is deterministic."""
    field = "-DFIELD=now, (size_t)((rows + 2) * size) * sizeof(double)"
    program = build(HEAT, *flags(cluster, "heat", 1), field, compiler="mpicc")
    return Show(cluster, "openmpi", program, "64", "149")


def windows(cluster: Cluster, build: Build) -> Show:
    program = build("mpi/restarted_windows.c", *flags(cluster, "restarted_windows", 9))
    return Show(cluster, "mpich", program)


@pytest.mark.parametrize("program", [heat, windows], ids=["heat", "windows"])
def test_ten_moments(program, cluster: Cluster, build: Build) -> None:  # type: ignore[no-untyped-def]
    show = program(cluster, build)
    said = sorted(show.native()[0].splitlines())
    assert len(said) >= 4  # each rank says what it has
    output, numbers = show.recorded()
    mine = [line for line in output.splitlines() if not line.startswith(("rdb: ", "[", "srun: "))]
    assert sorted(mine) == said
    for number in numbers:
        again, branch = show.goes_on(number)
        assert sorted(again.splitlines()) == said, number
        show.lose_branch(branch)


def test_ten_moments_of_lammps(cluster: Cluster) -> None:
    lmp = shutil.which("lmp")
    assert lmp, "lammps is not installed: make test-cluster installs it"
    show = Show(cluster, "openmpi", lmp, "-in", "in.melt")
    (show.folder / "in.melt").write_text(melt(steps=160, every=10))
    files = ("dump.melt", "restart.melt")
    printed, written = show.native(*files)
    table = thermo(printed)
    assert len(table) == 17
    output, numbers = show.by_itself("150events")
    assert thermo(output) == table
    assert {name: show.taken(name) for name in files} == written
    own = 0
    for number in numbers:
        again, branch = show.goes_on(number)
        left = thermo(again)
        assert table[len(table) - len(left) :] == left, number
        # what was open at the cut went on as a copy of the branch's own, for one rank or for all
        copies = list((branch / "rank-0").glob("file-*-dump.melt"))
        copies += branch.glob("later/*-dump.melt")
        dump = copies[0].read_bytes() if copies else show.taken("dump.melt")
        assert dump == written["dump.melt"], number
        # written after the last step: the branch's own as well, but where the cut is later still
        last = [*branch.glob("later/*restart.melt"), *branch.glob("rank-0/file-*-restart.melt")]
        assert all(one.read_bytes() == written["restart.melt"] for one in last), number
        own += bool(last)
        show.lose_branch(branch)
    assert own > MOMENTS // 2
