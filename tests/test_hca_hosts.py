"""The software HCA between two hosts: network namespaces with an Ethernet cable between them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from verbspair import Pair, await_listener

ADDRESSES = ("10.213.7.1", "10.213.7.2")
PORT = "18515"


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Names of two namespaces; each has one address and its loopback."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("namespaces of its own: needs root, and ip(8)")
    names = [f"rdb{os.getpid()}{side}" for side in "ab"]
    lines = [f"netns add {name}" for name in names]
    lines += ["link add {0} netns {0} type veth peer name {1} netns {1}".format(*names)]
    for name, address in zip(names, ADDRESSES, strict=True):
        lines += [f"-n {name} address add {address}/24 dev {name}"]
        lines += [f"-n {name} link set {device} up" for device in ("lo", name)]
    try:
        for line in lines:
            done = subprocess.run(
                ["ip", *line.split()], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.skip(f"no namespaces here: ip {line}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@pytest.mark.parametrize("kind", ["rc", "ud"])
def test_a_pingpong_between_hosts(
    kind: str, hosts: list[str], rdb_home: Path, tmp_path: Path
) -> None:
    pair = Pair(tmp_path)
    for name, host in zip(pair.names, hosts, strict=True):
        pair.inside[name] = ["ip", "netns", "exec", host]
    words = [f"ibv_{kind}_pingpong", "-g", "0", "-n", "50", "-p", PORT]
    server = pair.start("server", words)
    await_listener(int(PORT), server)
    client = pair.start("client", [*words, ADDRESSES[0]])
    pair.finish(server, client)
    pair.check()
    for out, peer in zip(pair.out, reversed(ADDRESSES), strict=True):
        assert f"GID ::ffff:{peer}" in out.partition("remote address")[2]
        assert "50 iters in" in out
    pair.replay()
