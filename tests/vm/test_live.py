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
from cluster.host import Host, NoCluster
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
def hosts(folder: Path, on_soft_roce: Path) -> Iterator[list[Host]]:
    """They see each other by TCP only, and the store of what was recorded in the guest."""
    place = folder / "hosts"
    place.mkdir()
    try:
        with ssh_hosts(RANKS, place, [on_soft_roce]) as there:
            (place / "nodes").write_text(f"node[1-{RANKS}]\n")
            yield there
    except NoCluster as why:
        if os.environ.get("RDB_TEST_RDMA") == "must":
            pytest.fail(str(why))
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def on_hosts(folder: Path, hosts: list[Host], on_soft_roce: Path) -> Rdb:
    """rdb, whose restarts are there."""

    def rdb(*words: str) -> subprocess.CompletedProcess[str]:
        options = ("--hosts", folder / "hosts" / "nodes") if words[0] == "restart" else ()
        return hosts[0].rdb(*words, *options, env={"RDB_HOME": str(on_soft_roce)})

    return rdb


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


def test_packs_go_on_on_hosts_without_a_common_disk(
    folder: Path, hosts: list[Host], on_hosts: Rdb, on_soft_roce: Path
) -> None:
    """MPI and verbs; and verbs with a socket as its side channel."""
    env = {"RDB_HOME": "/tmp/store"}  # on each host's own disk

    def rdb(*words: str | Path) -> subprocess.CompletedProcess[str]:
        done = hosts[0].rdb(*words, cwd="/tmp", env=env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done

    for name, where in (("ring", f"node[1-{RANKS}]"), ("rc", "node[1-2]")):
        pack = folder / "hosts" / f"{name}.rdb"
        assert on_hosts("pack", name, "-o", str(pack)).returncode == 0
        lines = folder / "hosts" / f"{name}.hosts"
        lines.write_text(f"{where}\n")
        rank, event, _ = next(pingpongs.cuts(open_job(on_soft_roce / name), 5))
        at = ("--rank", str(rank), "--at", str(event))
        done = rdb("restart", pack, *at, "--hosts", lines, "--name", f"{name}-apart")
        if name == "rc":
            pingpongs.check(done.stdout, ITERATIONS)
        else:
            said = Counter((on_soft_roce / "ring.said").read_text().splitlines())
            assert Counter(done.stdout.splitlines()) <= said
        script = folder / "hosts" / "nothing"
        script.write_text("")
        rdb("attach", f"{name}-apart", "-x", script)
        rdb("replay", f"{name}-apart", "--verify")


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


def test_a_branch_on_soft_roce_goes_on_on_the_software_hca(
    alone: Guest, folder: Path, in_the_guest: tuple[Rdb, Path]
) -> None:
    """Three generations: recorded here, its branch in the guest, and that one's here again."""
    rdb, store = in_the_guest
    rank, event, _ = next(pingpongs.cuts(open_job(store / "rc"), 7))
    before = alone.sent_packets()
    first = rdb("restart", "rc", "--rank", str(rank), "--at", str(event), "--name", "there")
    assert first.returncode == 0, first.stderr
    pingpongs.check(first.stdout, ITERATIONS)
    assert alone.sent_packets() > before
    copied = alone.run(f"cp -r {store}/there /run/out/", cwd="/tmp", timeout_s=TIMEOUT_S)
    assert copied.code == 0, copied.text
    shutil.copytree(alone.out / "there", store / "there")
    rank, event, cut = next(pingpongs.cuts(open_job(store / "there"), 8))
    at = ("--rank", str(rank), "--at", str(event))
    again = run_rdb(store, folder, "restart", "there", *at, "--hca=soft", "--name", "back")
    assert again.returncode == 0, f"{cut.events}: {again.stderr}"
    pingpongs.check(again.stdout, ITERATIONS)
    verified = run_rdb(store, folder, "replay", "back", "--verify")
    assert verified.returncode == 0, verified.stderr
