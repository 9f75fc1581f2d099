"""The software HCA: two processes on loopback, each linked with the engine alone, without rdb."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import Build

REPOSITORY = Path(__file__).parent.parent
LIBRARY = REPOSITORY / "build/interposer/verbs/soft/librdbhca.a"
FLAGS = ("-std=gnu17", "-D_GNU_SOURCE", "-Wno-unused-function", f"-I{REPOSITORY / 'interposer'}")
TIMEOUT_S = 90

RC = [
    "send_recv",
    "ping_pong",
    "immediate",
    "rdma_write",
    "rdma_read",
    "atomics",
    "pieces_and_inline",
    "order",
    "fence",
    "receiver_not_ready",
    "both_ways",
    "to_itself",
]


@pytest.fixture(scope="session")
def base_port() -> int:
    """Ports that nobody uses now, away from those of other jobs on the machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return min(port, 60000)


def run(
    build: Build, tmp_path: Path, base_port: int, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    path = build(f"{program}.c", *FLAGS, str(LIBRARY), "-lsodium", "-lpthread")
    environment = {**os.environ, "HCA_KEY": str(tmp_path / "key"), "RDB_HCA_PORT": str(base_port)}
    return subprocess.run(
        [path, *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize("scenario", RC)
def test_reliable_connections(build: Build, tmp_path: Path, base_port: int, scenario: str) -> None:
    done = run(build, tmp_path, base_port, "hca_rc", scenario)
    assert done.returncode == 0, done.stderr
