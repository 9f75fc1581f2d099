"""Debian's verbs programs that tests run: a server, and a client that is told where it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """SERVER and CLIENT are shell lines; {host} is where the server is."""

    name: str
    server: str
    client: str
    ready: str  # where the server listens (Guest.start)
    prints: str  # in the client's output
    packets: int  # at least so many leave the device, both sides together


def pingpong(kind: str, *options: str) -> Pair:
    command = " ".join((f"ibv_{kind}_pingpong -g 1 -n 50 -s 512", *options))
    return Pair(f"{kind}_pingpong", command, command + " {host}", "tcp:18515", "50 iters", 100)


def perftest(name: str, *options: str) -> Pair:
    command = " ".join((name, "-d rxe0 -x 1 -F -n 50", *options))
    return Pair(name, command, command + " {host}", "tcp:18515", "#bytes", 50)


PAIRS = (
    pingpong("rc"),
    pingpong("uc"),
    pingpong("ud"),
    pingpong("srq", "-q 4"),
    Pair("rping", "rping -s -C 10", "rping -c -a {host} -v -C 10", "cm:7174", "ping data", 40),
    perftest("ib_write_lat", "-s 64"),
    perftest("ib_read_lat", "-s 64"),
    perftest("ib_send_lat", "-s 64"),
    perftest("ib_atomic_lat"),
    perftest("ib_write_bw", "-s 4096"),
    perftest("ib_read_bw", "-s 4096"),
    perftest("ib_send_bw", "-s 4096"),
    perftest("ib_atomic_bw"),
)

# A multicast group: the receiver, how one sees in a guest that it has joined, and the sender.
GROUP = "mckey -m 239.1.1.7 -b 10.9.0.1 -C 5"
JOINED = "timeout 60 sh -c 'until grep -q 070101EF /proc/net/igmp; do sleep 0.05; done'"
