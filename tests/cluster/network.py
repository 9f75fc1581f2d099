"""Hosts on one Ethernet: a bridge in a namespace of its own, a cable to each."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.host import REPOSITORY, Host, need

_NET = "10.79.0"


@contextmanager
def network(
    count: int, folder: Path, prefix: str = "node", shared: Sequence[Path] = ()
) -> Iterator[list[Host]]:
    """PREFIX0 (a head) to PREFIX<COUNT>; all see the repository, FOLDER and SHARED."""
    need("unshare", "nsenter", "ip")
    hosts = folder / "etc-hosts"
    names = [(f"{prefix}{number}", f"{_NET}.{10 + number}") for number in range(count + 1)]
    lines = "".join(f"{address} {name}\n" for name, address in names)
    hosts.write_text("127.0.0.1 localhost\n" + lines)
    seen = [REPOSITORY, folder, *shared]
    with ExitStack() as stack:
        switch = Host.started(f"{prefix}-switch", "", hosts, seen)
        stack.callback(switch.lose)
        _ip(switch, "link add br0 type bridge")
        _ip(switch, "link set br0 up")
        made = []
        for number, (name, address) in enumerate(names):
            host = Host.started(name, address, hosts, seen)
            stack.callback(host.lose)
            # the cable's other end is named by a process of that host, seen from outside
            _outside(switch, f"link add v{number} type veth peer name eth0 netns {host.pid}")
            _ip(switch, f"link set v{number} master br0 up")
            _ip(host, "link set lo up")
            _ip(host, f"addr add {address}/24 dev eth0")
            _ip(host, "link set eth0 up")
            made.append(host)
        yield made


def _ip(host: Host, words: str) -> None:
    done = host.run("ip", *words.split())
    assert done.returncode == 0, f"ip {words}: {done.stderr}"


def _outside(host: Host, words: str) -> None:
    """In the network of that host, with the machine's numbers of processes."""
    line = ["nsenter", "-t", str(host.pid), "--net", "ip", *words.split()]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {words}: {done.stderr}"
