"""UCX and libfabric on the software HCA: recorded in pairs, each side replayed alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from verbspair import Pair, await_listener, free_port


def record(words: Sequence[str], listens: str, connects: str, cwd: Path) -> Pair:
    """LISTENS and CONNECTS: the options for the port, of the server and of the client."""
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    pair = Pair(cwd)
    port = free_port()
    server = pair.start("server", [*words, listens, str(port)], "--hash-every=1000")
    await_listener(port, server)
    line = [*words, connects, str(port), "127.0.0.1"]
    client = pair.start("client", line, "--hash-every=1000")
    pair.finish(server, client)
    pair.check()
    return pair


def ucx() -> list[str]:
    """UCX's test of two processes, also where it is built to be started by mpirun (Debian 13)."""
    if not shutil.which("ucx_perftest"):
        pytest.skip("ucx_perftest is not installed")
    said = subprocess.run(["ucx_perftest", "-h"], check=False, capture_output=True, text=True)
    return ["ucx_perftest", *(["-P", "0"] if "MPI mode" in said.stdout else [])]


@pytest.mark.parametrize("transport", ["rc_verbs", "ud_verbs"])
@pytest.mark.parametrize("layout", ["short", "bcopy", "zcopy"])
def test_transports_of_ucx(transport: str, layout: str, rdb_home: Path, tmp_path: Path) -> None:
    words = [*ucx(), "-d", "rdb0:1", "-x", transport, "-t", "am_lat", "-D", layout]
    pair = record([*words, "-n", "50", "-w", "5"], "-p", "-p", tmp_path)
    assert "Final:" in pair.out[1]
    pair.replay()


@pytest.mark.parametrize("kind", ["put_lat", "get", "fadd", "cswap"])
def test_one_sided_operations_of_ucx(kind: str, rdb_home: Path, tmp_path: Path) -> None:
    words = [*ucx(), "-d", "rdb0:1", "-x", "rc_verbs", "-t", kind]
    layout = ["-D", "bcopy"] if kind == "get" else []
    pair = record([*words, *layout, "-n", "50", "-w", "5"], "-p", "-p", tmp_path)
    assert "Final:" in pair.out[1]
    pair.replay()


@pytest.mark.parametrize("kind", ["tag_lat", "tag_bw", "stream_lat", "ucp_am_bw", "ucp_get"])
def test_protocols_of_ucx(
    kind: str,
    rdb_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UCX_TLS", "rc_verbs,ud_verbs,self")
    words = [*ucx(), "-t", kind, "-s", "20000", "-n", "20", "-w", "2"]
    pair = record(words, "-p", "-p", tmp_path)
    assert "Final:" in pair.out[1]
    pair.replay()


@pytest.mark.parametrize(
    ("provider", "endpoint"), [("verbs", "msg"), ("verbs;ofi_rxm", "rdm"), ("verbs", "dgram")]
)
def test_endpoints_of_libfabric(
    provider: str, endpoint: str, rdb_home: Path, tmp_path: Path
) -> None:
    words = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", "10", "-S", "1024"]
    pair = record(words, "-B", "-P", tmp_path)
    assert "=10" in pair.out[1]
    pair.replay()
