"""The clusters that tests share, and programs that all hosts see."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from cluster.host import Host, NoCluster
from cluster.slurm import slurm_hosts
from cluster.ssh import ssh_hosts

HOSTS = 4
T = TypeVar("T")


class Cluster:
    """Hosts, the head first; a folder that all see; stores in it or on each host's own disk."""

    def __init__(self, hosts: list[Host], folder: Path) -> None:
        self.hosts = hosts
        self.folder = folder
        self.head = hosts[0]
        self.nodes = hosts[1:]
        self.command = [sys.executable, "-m", "rdb"]

    def host_file(self, name: str, *lines: str) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


def made(made: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    try:
        with made() as there:
            yield there
    except NoCluster as why:
        # `make test-cluster` has installed what is needed: there it is a failure.
        if os.environ.get("RDB_TEST_CLUSTER") == "must":
            pytest.fail(str(why))
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("ssh")
    for hosts in made(lambda: ssh_hosts(HOSTS, folder, [tmp_path_factory.getbasetemp()])):
        yield Cluster(hosts, folder)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    for hosts in made(lambda: slurm_hosts(HOSTS, folder, [tmp_path_factory.getbasetemp()])):
        yield Cluster(hosts, folder)
