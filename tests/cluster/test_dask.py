"""Work on ranks at the hosts that have their recordings: `--on dask:ADDRESS`."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Build
from cutting import Cuttable

from cluster.disks import STORE, TIMEOUT_S, Disks, disks
from cluster.host import Host, until

pytestmark = pytest.mark.cluster
PORT = 8786


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Disks]:
    yield from disks(tmp_path_factory.mktemp("dask"), build, ("mpi/restarted.c",))


def start(cluster: Disks, host: Host, what: str, *options: str, job: str = "job") -> Path:
    """A scheduler or worker of Dask, with the certificate of JOB; what it says."""
    pem = f"{STORE}/{job}/agents.pem"
    keys = [word for name in ("ca-file", "cert", "key") for word in (f"--tls-{name}", pem)]
    said = cluster.folder / f"{what}.{host.name}.{job}"
    line = [sys.executable, "-m", f"distributed.cli.dask_{what}", *keys, "--no-dashboard"]
    host.start(*line, *options, cwd="/tmp", env=cluster.env, output=said)
    return said


def started_by_ssh(host: Host) -> bool:
    return "--death-timeout" in host.run("ps", "-eo", "args").stdout


def record(cluster: Disks, name: str) -> None:
    hosts = cluster.host_file("two", "node1 slots=2", "node2:2")
    line = ("run", "-n", "4", "--hosts", hosts, "--hash-every", "50", "--name", name)
    cluster.rdb(*line, "--", cluster.folder / "restarted")


def answer(cluster: Disks, *words: str) -> tuple[int, str, str]:
    done = cluster.head.rdb(*words, cwd="/tmp", env=cluster.env, timeout_s=TIMEOUT_S)
    # how far it is, every 5 s, is no answer
    said = [line for line in done.stderr.splitlines() if not line.endswith(" done")]
    return done.returncode, done.stdout, "\n".join(said)


def drawn(cluster: Disks) -> str:
    """The page that the head has, which is removed."""
    return cluster.head.run("sh", "-c", "cat /tmp/job.html && rm /tmp/job.html").stdout


@pytest.fixture(scope="module")
def address(cluster: Disks) -> str:
    """Of a scheduler on the head, with a worker on each of two hosts, which have two ranks each.

    The first has an earlier copy of a rank of the second, too.
    """
    record(cluster, "job")
    copy = shutil.copytree(cluster.disk(2) / "job/rank-3", cluster.disk(1) / "job/rank-3")
    Cuttable(copy).cut(100)
    where = f"{cluster.head.address}:{PORT}"
    said = start(cluster, cluster.head, "scheduler", "--host", where)
    for node in cluster.nodes[:2]:
        start(cluster, node, "worker", "--nworkers", "1", "--nthreads", "1", f"tls://{where}")
    until("both workers", lambda: said.read_text().count("Register worker") == 2)
    return f"dask:{where}"


def test_the_same_from_many_hosts_and_from_one(cluster: Disks, address: str) -> None:
    asked = [
        ("replay", "job", "--verify"),
        ("replay", "job", "--rank", "3", "--checkpoint", "all", "--json"),
        ("find-event", "job", "mpi.recv"),
        ("find-event", "job", "--count", "mpi.recv"),
        ("find-event", "job", "--next", "sum > 1000000"),
        ("messages", "job", "--rank", "1", "--at", "50"),
        ("timeline", "job"),
    ]
    there = [answer(cluster, *words, "--on", address) for words in asked]
    page = drawn(cluster)
    asked.append(asked[0])
    there.append(answer(cluster, *asked[0], "--on", "ssh"))
    for host in cluster.nodes:
        until("its workers' end", lambda host=host: not started_by_ssh(host))
    assert not cluster.ranks(0, "job")
    code, said, _ = there[0]
    assert (code, said.count("hashes agree")) == (0, 4)
    code, said, _ = answer(cluster, "replay", "job", "--rank", "4", "--on", address)
    assert (code, said) == (4, "")
    cluster.rdb("attach", "job", "-x", cluster.host_file("nothing"))
    assert cluster.ranks(0, "job") == [0, 1, 2, 3]
    for words, found in zip(asked, there, strict=True):
        assert found == answer(cluster, *words)
    assert drawn(cluster) == page


def test_another_jobs_certificate_is_refused(cluster: Disks, address: str) -> None:
    record(cluster, "other")
    code, said, why = answer(cluster, "replay", "other", "--on", address)
    assert (code, said) == (125, "")
    assert f"no Dask scheduler at tls://{address[5:]} has this job's certificate" in why


@contextmanager
def held(cluster: Disks, address: str, *command: str | Path) -> Iterator[Held]:
    """The work on rank 2 waits at its host for a file that is a pipe; another try has none."""
    path = cluster.disk(2) / "job/rank-2/cautions"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    output = cluster.folder / "held"
    output.write_text("")
    line = [*command, "replay", "job", "--verify", "--on", address]
    process = cluster.head.start(*line, env=cluster.env, output=output)
    writer = -1

    def is_read() -> bool:
        nonlocal writer
        try:
            writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO
        return writer >= 0

    until("the work on rank 2", is_read)
    path.unlink()
    yield Held(process, output)
    os.close(writer)


class Held(NamedTuple):
    process: subprocess.Popen[str]
    output: Path

    def ended(self) -> tuple[int, str]:
        code = self.process.wait(90)
        return code, self.output.read_text()


def test_the_work_of_a_worker_that_dies_is_done_again(cluster: Disks, address: str) -> None:
    with held(cluster, address, *cluster.command) as work:
        # of this host, which has a namespace of its own
        worker = ("pkill", "-KILL", "-f", "multiprocessing.spawn import spawn_main")
        assert cluster.hosts[2].run(*worker).returncode == 0
        code, said = work.ended()
    assert code == 0 and said.count("hashes agree") == 4, said


def test_a_host_that_is_lost_has_no_answer(cluster: Disks, address: str) -> None:
    """The last one here: the host is gone."""
    script = cluster.folder / "impatient.py"
    script.write_text(
        "import rdb.dask as dask, rdb.cli as cli\ndask._LOST_S = 1\nraise SystemExit(cli.main())\n"
    )
    with held(cluster, address, sys.executable, script) as work:
        cluster.hosts[2].lose()
        code, said = work.ended()
    assert code == 125 and said.count("hashes agree") == 2, said
    lost = (
        f"rdb: there is no worker on {cluster.hosts[2].address} any more; process 2 has no answer"
    )
    assert lost in said.splitlines()
