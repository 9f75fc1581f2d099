"""Sixteen ranks: eight hosts of two, four of four, one of sixteen, there under another MPI too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Build

from cluster.conftest import Cluster, made
from cluster.ssh import ssh_hosts
from rdb.recording import open_job

pytestmark = pytest.mark.cluster
TIMEOUT_S = 200.0


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("eight")
    for hosts in made(lambda: ssh_hosts(8, folder, [tmp_path_factory.getbasetemp()])):
        yield Cluster(hosts, folder)


def test_sixteen_ranks_in_three_shapes(eight: Cluster, build: Build) -> None:
    env = {"RDB_HOME": str(eight.folder / "home")}

    def run(name: str, hosts: str, *words: object) -> list[str]:
        line = [*map(str, words), "--hosts", str(eight.host_file(name, hosts)), "--name", name]
        if words[0] == "run":
            line += ["--", str(build("mpi/restarted.c"))]
        done = eight.head.rdb(*line, env=env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    said = run("job", "node[1-8] slots=2", "run", "-n", "16")
    again = ("restart", "job", "--at", "99", "--launcher", "ssh")
    assert run("four", "node[1-4] slots=4", *again) == said
    assert run("one", "node8:16", *again) == said
    assert run("other", "node5:16", *again, "--mpi", "mpich") == said
    for name, hosts in (("job", 8), ("four", 4), ("one", 1), ("other", 1)):
        job = open_job(eight.folder / "home" / name)
        assert len({rank.meta["host"] for rank in job.all_ranks()}) == hosts
        assert [rank.state for rank in job.all_ranks()] == ["exited 0"] * 16
