"""Jobs with verbs go on over another kind of HCA: from soft-RoCE to the software HCA, and back.

Ten random moments of jobs that were recorded in the guest go on over TCP, on hosts in network
namespaces. What was recorded on the software HCA goes on in the guest.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pingpongs
import pytest
from cluster.host import NoCluster
from cluster.ssh import ssh_hosts
from conftest import Build, run_rdb
from restarting import restart_at

from rdb.recording import open_job
from vm.guest import Guest
from vm.test_rdb import AS_ROOT, RDB, ROOT

pytestmark = pytest.mark.rdma
TIMEOUT_S = 400
RANKS = 4
ROUNDS = 8
ITERATIONS = 40
RING_MOMENTS = 6  # and one of each pingpong
PORT = 20100
Rdb = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def ring(build: Build) -> Path:
    return build("verbs_ring.c", "-O1", "-libverbs", compiler="mpicc")


def pingpong(kind: str, rdb: list[str], hca: str, *more: str) -> list[str]:
    port = PORT + pingpongs.KINDS.index(kind)
    words = [*pingpongs.pingpong(kind, port, ITERATIONS), *more]
    return pingpongs.job_line(rdb, kind, hca, words, port)


@pytest.fixture(scope="module")
def on_soft_roce(alone: Guest, folder: Path, ring: Path) -> Path:
    """Recorded in the guest, with all its devices do; the store is the host's afterwards."""
    store = folder / "real"
    env = {**AS_ROOT, "RDB_HOME": "/tmp/live", "PYTHONPATH": str(ROOT)}

    def ran(line: str) -> str:
        done = alone.run(line, cwd="/tmp", env=env, timeout_s=TIMEOUT_S)
        assert done.code == 0, done.text
        return done.out

    before = alone.sent_packets()
    said = ran(f"{RDB} run -n {RANKS} --hca=real --name ring -- {ring} {ROUNDS}")
    assert alone.sent_packets() - before > RANKS * ROUNDS
    for kind in pingpongs.KINDS:
        line = shlex.join(pingpong(kind, shlex.split(RDB), "real", "-g", "1"))
        pingpongs.check(ran(line), ITERATIONS)
    ran("cp -r /tmp/live /run/out/")
    shutil.copytree(alone.out / "live", store)
    (store / "ring.said").write_text(said)
    return store


@pytest.fixture(scope="module")
def on_hosts(folder: Path, on_soft_roce: Path) -> Iterator[Rdb]:
    """rdb, whose restarts are on hosts that see each other by TCP only."""
    place = folder / "hosts"
    place.mkdir()
    try:
        with ssh_hosts(RANKS, place, [on_soft_roce]) as hosts:
            lines = place / "nodes"
            lines.write_text(f"node[1-{RANKS}]\n")

            def rdb(*words: str) -> subprocess.CompletedProcess[str]:
                options = ("--hosts", lines) if words[0] == "restart" else ()
                return hosts[0].rdb(*words, *options, env={"RDB_HOME": str(on_soft_roce)})

            yield rdb
    except NoCluster as why:
        if os.environ.get("RDB_TEST_RDMA") == "must":
            pytest.fail(str(why))
        pytest.skip(str(why))


def goes_on(rdb: Rdb, store: Path, name: str, moments: int) -> None:
    job = open_job(store / name)
    cuts = pingpongs.cuts(job, 1)
    for _ in range(moments):
        rank, event, cut = next(cuts)
        where = f"{name}, rank {rank} at {event}: {cut.events}"
        if name == "ring":
            said = Counter((store / "ring.said").read_text().splitlines())
            restart_at(rdb, job, said, rank, event, cut, where)
            continue
        done = rdb("restart", name, "--rank", str(rank), "--at", str(event), "--name", "cut")
        assert done.returncode == 0, f"{where}: {done.stderr}"
        pingpongs.check(done.stdout, ITERATIONS)
        rdb("rm", "cut")


def test_the_ring_goes_on_over_tcp_on_other_hosts(on_hosts: Rdb, on_soft_roce: Path) -> None:
    goes_on(on_hosts, on_soft_roce, "ring", RING_MOMENTS)


def test_pingpongs_go_on_over_tcp_on_other_hosts(on_hosts: Rdb, on_soft_roce: Path) -> None:
    for kind in pingpongs.KINDS:
        goes_on(on_hosts, on_soft_roce, kind, 1)


@pytest.fixture(scope="module")
def in_the_guest(alone: Guest, folder: Path, ring: Path) -> tuple[Rdb, Path]:
    """rdb there, and a store of jobs that were recorded here, over the software HCA."""
    store = folder / "soft"
    said = run_rdb(
        store, folder, "run", "-n", str(RANKS), "--hca=soft", "--name", "ring", "--", str(ring),
        str(ROUNDS),
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    (store / "ring.said").write_text(said.stdout)
    line = pingpong("rc", [sys.executable, "-m", "rdb"], "soft")
    env = {**os.environ, "RDB_HOME": str(store)}
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def rdb(*words: str) -> subprocess.CompletedProcess[str]:
        options = ["--hca=real"] if words[0] == "restart" else []
        line = f"{RDB} {shlex.join([*words, *options])}"
        env = {**AS_ROOT, "RDB_HOME": str(store), "PYTHONPATH": str(ROOT)}
        done = alone.run(line, cwd="/tmp", env=env, timeout_s=TIMEOUT_S)
        return subprocess.CompletedProcess(line, done.code, done.out, done.err)

    return rdb, store


@pytest.mark.parametrize("name", ["rc", "ring"])
def test_what_was_recorded_on_the_software_hca_goes_on_on_soft_roce(
    name: str, alone: Guest, in_the_guest: tuple[Rdb, Path]
) -> None:
    before = alone.sent_packets()
    goes_on(*in_the_guest, name, 1)
    assert alone.sent_packets() - before > ROUNDS


def test_it_goes_on_on_soft_roce_again(alone: Guest, on_soft_roce: Path) -> None:
    def rdb(*words: str) -> subprocess.CompletedProcess[str]:
        env = {**AS_ROOT, "RDB_HOME": "/tmp/live", "PYTHONPATH": str(ROOT)}
        done = alone.run(f"{RDB} {shlex.join(words)}", cwd="/tmp", env=env, timeout_s=TIMEOUT_S)
        return subprocess.CompletedProcess(words, done.code, done.out, done.err)

    before = alone.sent_packets()
    goes_on(rdb, on_soft_roce, "rc", 1)
    assert alone.sent_packets() > before
