"""The software HCA between two hosts: network namespaces with an Ethernet cable between them."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from verbspair import Pair, await_listener

ADDRESSES = ("10.213.7.1", "10.213.7.2")
PORT = "18515"
HELLO, PROOF, FRAME, TAG = 56, 32, 48, 8  # bytes (auth.h, wire.h)
# Says when it listens; each line then a segment of TCP from or to an HCA: ports, number, payload.
SNIFF = """
import socket, struct
link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # both ways
print("ready", flush=True)
while True:
    packet, (_, kind, *_) = link.recvfrom(1 << 16)
    if kind != 0x0800:
        continue
    size, protocol = struct.unpack_from(">2xH5xB", packet)
    tcp = packet[(packet[0] & 15) * 4 : size]
    source, dest, number = struct.unpack_from(">HHI", tcp)
    data = tcp[(tcp[12] >> 4) * 4 :]
    if protocol == 6 and data and 20000 in (source, dest):
        print(source, dest, number, data.hex(), flush=True)
"""


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


def _streams(said: str) -> list[bytes]:
    """What was sent each way."""
    segments: dict[tuple[str, str], dict[int, bytes]] = {}
    for line in said.splitlines():
        source, dest, number, data = line.split()
        segments.setdefault((source, dest), {})[int(number)] = bytes.fromhex(data)
    return [b"".join(one[number] for number in sorted(one)) for one in segments.values()]


def test_frames_between_hosts_carry_tags(hosts: list[str], rdb_home: Path, tmp_path: Path) -> None:
    """Each frame is so much longer than what it says of itself, to the last one."""
    pair = Pair(tmp_path)
    for name, host in zip(pair.names, hosts, strict=True):
        pair.inside[name] = ["ip", "netns", "exec", host]
    with subprocess.Popen(
        [*pair.inside["server"], sys.executable, "-c", SNIFF], stdout=subprocess.PIPE, text=True
    ) as sniffer:
        assert sniffer.stdout and sniffer.stdout.readline() == "ready\n"
        words = ["ibv_rc_pingpong", "-g", "0", "-n", "5", "-s", "100", "-p", PORT]
        server = pair.start("server", words)
        await_listener(int(PORT), server)
        pair.finish(server, pair.start("client", [*words, ADDRESSES[0]]))
        pair.check()
        sniffer.send_signal(signal.SIGTERM)
        streams = _streams(sniffer.stdout.read())
    assert len(streams) == 2
    for stream in streams:
        at, messages = HELLO + PROOF, 0
        while at < len(stream):
            length = struct.unpack_from("<I", stream, at + 36)[0]
            messages += length == 100
            at += FRAME + length + TAG
        assert (at, messages) == (len(stream), 5)
