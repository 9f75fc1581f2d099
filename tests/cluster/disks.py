"""Hosts each with a disk of its own, which this process sees, too: a power failure leaves it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from conftest import Build

from cluster.conftest import HOSTS, Cluster, made
from cluster.ssh import ssh_hosts
from rdb.recording import Job, open_job

STORE = "/tmp/store"  # at each host
TIMEOUT_S = 180.0


class Disks(Cluster):
    """All see the folder with the programs, under other paths what is recorded."""

    env: Mapping[str, str] = {"RDB_HOME": STORE}

    def disk(self, number: int) -> Path:
        return self.folder / "disks" / self.hosts[number].name

    def job(self, name: str, number: int = 0) -> Job:
        """As that host has it."""
        return open_job(self.disk(number) / name)

    def ranks(self, number: int, name: str) -> list[int]:
        """Those whose recordings that host has."""
        return sorted(int(one.name[5:]) for one in (self.disk(number) / name).glob("rank-*"))

    def rdb(self, *words: str | Path):  # type: ignore[no-untyped-def]
        """On the head; it is to succeed."""
        done = self.head.rdb(*words, cwd="/tmp", env=self.env, timeout_s=TIMEOUT_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return done


def disks(folder: Path, build: Build, *programs: tuple[str, ...]) -> Iterator[Disks]:
    """PROGRAMS: each its source and flags."""
    for name, *flags in programs:
        compiler = "mpicc" if "-libverbs" in flags else None
        built = build(name, *flags, compiler=compiler) if compiler else build(name, *flags)
        shutil.copy(built, folder / built.name)
    for hosts in made(lambda: ssh_hosts(HOSTS, folder)):
        cluster = Disks(hosts, folder)
        for number, host in enumerate(hosts):
            cluster.disk(number).mkdir(parents=True, mode=0o700)
            mount = f"mkdir -m 700 {STORE} && mount --bind {cluster.disk(number)} {STORE}"
            assert host.run("sh", "-c", mount).returncode == 0
        yield cluster
