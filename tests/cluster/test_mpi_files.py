"""Jobs with files of MPI go on on other hosts: with a disk in common, and without."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build

from cluster.disks import Disks, disks
from rdb.live.files.file_order import copies
from rdb.recording import Job, open_job

pytestmark = pytest.mark.cluster
THERE = "".join(f"{number}\n" for number in range(900)).encode()
TIMEOUT_S = 180.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Disks]:
    yield from disks(tmp_path_factory.mktemp("mpi-files"), build, ("mpi/restarted_io.c",))


def filled(folder: Path) -> Path:
    folder.mkdir()
    (folder / "there").write_bytes(THERE)
    (folder / "gone").write_bytes(b"bye\n")
    return folder


def pending(job: Job) -> str:
    """An event at which a read of a file is pending."""
    rank = job.rank(0)
    events = range(1, rank.last_event + 1)
    return str([at for at in events if rank.describe(at).startswith("MPI_File_iread_at(")][1])


def contents(folder: Path) -> dict[str, bytes]:
    """Of a branch's own files, by the names that they are copies of."""
    return {path.name.split("-", 1)[1]: path.read_bytes() for path in copies(folder)}


def test_three_ranks_from_mpich_to_open_mpi(cluster: Disks) -> None:
    """On three hosts that see the files and the job, then on two others."""
    folder = filled(cluster.folder / "files")
    env = {"RDB_HOME": str(cluster.folder / "home")}

    def rdb(*words: str | Path) -> subprocess.CompletedProcess[str]:
        done = cluster.head.rdb(*words, env=env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done

    hosts = cluster.host_file("three", "node[1-3]")
    options = ("--hosts", hosts, "--mpi", "mpich", "--name", "job")
    done = rdb("run", "-n", "3", *options, "--", cluster.folder / "restarted_io", folder)
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(left) == {"there", "lines", "extra"}
    at = pending(open_job(cluster.folder / "home" / "job"))
    hosts = cluster.host_file("two", "node4:2", "node1:1")
    options = ("--at", at, "--hosts", hosts, "--mpi", "openmpi", "--name", "again")
    again = rdb("restart", "job", *options)
    assert sorted(again.stdout.splitlines()) == sorted(done.stdout.splitlines())
    assert contents(cluster.folder / "home" / "again") == left
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left


def test_files_of_one_host_go_where_its_ranks_are(cluster: Disks) -> None:
    """Hosts that see neither the job nor its files; ranks of two cannot share one there."""
    folder = filled(cluster.disk(0) / "files")  # as the head has it
    line = ("run", "-n", "2", "--name", "io", "--", cluster.folder / "restarted_io")
    done = cluster.rdb(*line, "/tmp/store/files")
    at = pending(cluster.job("io"))
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    one = cluster.host_file("one", "node2:2")
    again = cluster.rdb("restart", "io", "--at", at, "--hosts", one, "--name", "io-2")
    assert sorted(again.stdout.splitlines()) == sorted(done.stdout.splitlines())
    assert contents(cluster.disk(2) / "io-2") == left
    for path in copies(cluster.disk(2) / "io-2"):
        name = path.name.split("-", 1)[1]
        assert f"{name} went on as node2:/tmp/store/io-2/mpi-files/{path.name}\n" in again.stderr
    assert again.stderr.count(" went on as ") == len(left)
    two = cluster.host_file("two", "node2:1", "node3:1")
    options = ("--at", at, "--hosts", two, "--name", "io-3")
    refused = cluster.head.rdb("restart", "io", *options, env=cluster.env)
    said = "ranks 0-1 use it, but node[2-3] have no common file system; put these ranks on one"
    assert refused.returncode != 0 and said in refused.stderr, refused.stderr
    assert not any((cluster.disk(number) / "io-3").exists() for number in range(4))
