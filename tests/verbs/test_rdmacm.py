"""librdmacm and perftest on the software HCA: recorded in pairs, each side replayed alone."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import deadlines
import pytest
from conftest import Build, run_rdb
from verbspair import Pair, await_listener, free_port, record_pair

from rdb.paths import lib_dir

LIBRARY = lib_dir() / "verbs" / "librdmacm.so.1"
LIBRARIES = ("-lrdmacm", "-libverbs")


def tcp_port(rdma_port: int) -> int:
    """What an RDMA port stands for (port.c)."""
    return rdma_port if rdma_port >= 61000 else 61000 + rdma_port % 4536


@pytest.mark.parametrize("option", [[], ["-q"]], ids=["rdma_create_qp", "ibv_create_qp"])
def test_rping_of_debian(option: list[str], rdb_home: Path, tmp_path: Path) -> None:
    """-q: it makes its queue pairs itself, and the server's is ready before rdma_accept()."""
    assert shutil.which("rping"), "rdmacm-utils is one of the Makefile's packages"
    pair = Pair(tmp_path)
    port = free_port()
    words = ["rping", *option, "-a", "127.0.0.1", "-p", str(port), "-C", "5", "-v"]
    server = pair.start("server", [*words, "-s"])
    await_listener(tcp_port(port), server)
    client = pair.start("client", [*words, "-c"])
    pair.finish(server, client)
    # At its end rping closes the event channel that its second thread may be about to wait at.
    for n, code in enumerate(pair.codes):
        if code == 255 and "rdma_get_cm_event: Bad file descriptor\n" in pair.err[n]:
            pair.codes[n] = 0
    pair.check()
    for out, name in zip(pair.out, ("server ping data", "ping data"), strict=True):
        lines = [line for line in out.splitlines() if line.startswith(name)]
        assert [line.split(": ")[1] for line in lines] == [f"rdma-ping-{n}" for n in range(5)]
    pair.replay()


def await_member(group: str, home: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the software HCA has a queue pair in the group of that GID (mcast.c)."""
    deadline = deadlines.Deadline(90)
    while not list(home.glob(f"hca.key.groups/{group}-*")):
        assert process.poll() is None, "it ended before it joined"
        assert not deadline.over()
        time.sleep(0.02)


def test_a_multicast_group_with_mckey_of_debian(rdb_home: Path, tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    words = ["mckey", "-m", "239.1.1.7", "-b", "127.0.0.1", "-C", "3"]
    receiver = pair.start("server", words, "--hash-every=100000")
    await_member("00000000000000000000ffffef010107", rdb_home, receiver)
    sender = pair.start("client", [*words, "-s"])
    pair.finish(receiver, sender)
    pair.check()
    for out in pair.out:
        assert "joined dgid: ::ffff:239.1.1.7" in out and "data transfers complete" in out
    pair.replay()


def test_each_kind_of_connection(build: Build, rdb_home: Path, tmp_path: Path) -> None:
    program = build("rdmacm_ends.c", "-O1", *LIBRARIES)
    departure = [
        f"RDMA_CM_EVENT_{name}" for name in ("CONNECT_REQUEST", "ESTABLISHED", "DISCONNECTED")
    ]
    pair = record_pair(program, tmp_path)
    pair.check()
    assert pair.out[0].splitlines() == [
        "request: hello, 3 2 5",
        "heard: from the client",
        "RDMA_CM_EVENT_DISCONNECTED",
        "RDMA_CM_EVENT_CONNECT_REQUEST",
        "datagram: by itself",
        *departure,
        *departure,
        "server done",
    ]
    assert pair.out[1].splitlines() == [
        "established: welcome, 3 2",
        "heard: from the server",
        "RDMA_CM_EVENT_DISCONNECTED",
        "RDMA_CM_EVENT_REJECTED 28: no",
        "RDMA_CM_EVENT_ADDR_RESOLVED",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",
        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_ADDR_RESOLVED",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",
        "RDMA_CM_EVENT_REJECTED",
        "left after: and off you go",
        "left after: and off you go",
        "client done",
    ]
    pair.replay()


def test_what_a_listener_had_goes_with_it(build: Build, rdb_home: Path, tmp_path: Path) -> None:
    """Events of clients that nobody had fetched; a client keeps the port that it is bound to."""
    program = str(build("rdmacm_forgotten.c", "-O1", *LIBRARIES))
    done = run_rdb(rdb_home, tmp_path, "run", "--hca=soft", "--name", "forgotten", "--", program)
    assert (done.returncode, done.stdout) == (0, "1 0\n"), done.stderr


def test_addresses_from_hints(build: Build, rdb_home: Path, tmp_path: Path) -> None:
    program = str(build("rdmacm_addresses.c", "-O1", *LIBRARIES))
    done = run_rdb(rdb_home, tmp_path, "run", "--hca=soft", "--name", "addresses", "--", program)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


PERFTEST = [
    ("ib_send_lat", "-R", "-s", "64", "-n", "10"),
    ("ib_write_lat", "-s", "64", "-n", "10"),
    ("ib_atomic_lat", "-n", "10"),
    ("ib_read_bw", "-s", "4096", "-n", "20"),
    ("ib_send_bw", "-s", "4096", "-n", "20"),
    # the others, with `make test-rdma`
    *(
        pytest.param(words, marks=pytest.mark.rdma)
        for words in (
            ("ib_read_lat", "-s", "64", "-n", "10"),
            ("ib_write_bw", "-s", "4096", "-n", "20"),
            ("ib_atomic_bw", "-n", "20"),
        )
    ),
]
# It compares the CPU's counter with the clock, and gives up where a busy machine disturbs that.
UNCALIBRATED = "Correlation coefficient"


def record_perftest(words: Sequence[str], cwd: Path) -> Pair:
    """Without a hash at each event, which disturbs it as well."""
    pair = Pair(cwd)
    port = free_port()
    line = [*words, "-p", str(port)]
    server = pair.start("server", line, "--hash-every=1000")
    await_listener(tcp_port(port) if "-R" in words else port, server)
    client = pair.start("client", [*line, "127.0.0.1"], "--hash-every=1000")
    pair.finish(server, client)
    return pair


@pytest.mark.parametrize("words", PERFTEST, ids=" ".join)
def test_perftest_of_debian(words: tuple[str, ...], rdb_home: Path, tmp_path: Path) -> None:
    assert shutil.which(words[0]), "perftest is one of the Makefile's packages"
    for _ in range(6):
        shutil.rmtree(rdb_home, ignore_errors=True)
        pair = record_perftest(words, tmp_path)
        if UNCALIBRATED not in "".join(pair.err):
            break
    pair.check()
    assert "iterations" in pair.out[1]
    pair.replay()


def exported(path: str) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1] for line in listed.splitlines() if "@@RDMACM_" in line}


def test_symbols_and_words_are_those_of_the_system_library() -> None:
    theirs = ctypes.CDLL("librdmacm.so.1")
    ours = ctypes.CDLL(str(LIBRARY))
    said = []
    for library in (theirs, ours):
        library.rdma_event_str.restype = ctypes.c_char_p
        said.append([library.rdma_event_str(value) for value in range(18)])
    assert said[0] == said[1]
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    system = next(
        line.split(" => ")[1]
        for line in listed.stdout.splitlines()
        if "librdmacm.so.1 " in line and "x86-64" in line
    )
    assert exported(system) <= exported(str(LIBRARY))
