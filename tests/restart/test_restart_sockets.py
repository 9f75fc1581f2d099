"""rdb restart of ranks that talk through sockets: every byte once, in order.

`make test` restarts at a few events; RDB_TEST_LIVE=10 (make test-live) at so many.
"""

from __future__ import annotations

import copy
import errno
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb, run_rdb
from restarting import branch_at, restart_at

from rdb.live.cut.consistent import Cut, Traffic
from rdb.live.sockets import End, ends_of
from rdb.recording import Job, open_job

RANKS = 3
RECORDS = 80
MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))


def _total(counts: list[tuple[int, int]], until: int) -> int:
    """All that was moved by that event."""
    return max((total for event, total in counts if event <= until), default=0)


class Talk:
    """socket_ranks on three ranks: it verifies each byte, and says so in lines."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        done = self.rdb("run", "-n", str(RANKS), "--name", "talk", "--", str(program), str(RECORDS))
        assert done.returncode == 0, done.stderr
        self.said = Counter(done.stdout.splitlines())
        self.job: Job = open_job(self.home / "talk")
        self._read()

    def _read(self) -> None:
        self.traffic = Traffic(self.job)
        self.ends = {rank: ends_of(self.job.rank(rank)) for rank in range(RANKS)}

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def connections(self) -> Iterator[tuple[int, End, int, End]]:
        """Each direction of each connection between ranks."""
        known = {
            (end.key, end.connects): (rank, end) for rank in self.ends for end in self.ends[rank]
        }
        for rank, ends in self.ends.items():
            for end in ends:
                other = known[end.key, not end.connects]
                yield rank, end, *other

    def under_way(self, cut: Cut) -> list[int]:
        """Bytes that were written and not read, of each direction."""
        return [
            _total(end.writes, cut.events[rank]) - _total(far.reads, cut.events[other])
            for rank, end, other, far in self.connections()
        ]

    def cuts(self, seed: int) -> Iterator[tuple[int, int, Cut]]:
        chosen = random.Random(seed)
        while True:
            rank = chosen.randrange(RANKS)
            event = chosen.randrange(1, self.job.rank(rank).last_event)
            yield rank, event, self.traffic.cut(rank, event)

    def branch(self, name: str, *place: *tuple[int, int, Cut]) -> Talk:
        """What goes on from there is a job of its own, and has said the rest."""
        other = copy.copy(self)
        other.said = branch_at(self.rdb, self.job, self.said, place, name)
        other.job = open_job(self.home / name)
        other._read()
        return other

    def restart(self, rank: int, event: int, cut: Cut) -> None:
        where = f"rank {rank} at {event}: {cut.events}, {self.under_way(cut)} bytes under way"
        restart_at(self.rdb, self.job, self.said, rank, event, cut, where)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Talk:
    return Talk(tmp_path_factory.mktemp("talk"), build("socket_ranks.c", "-O1"))


def test_ends_are_found_and_cuts_are_consistent(talk: Talk) -> None:
    directions = list(talk.connections())
    assert len(directions) == 2 * (RANKS - 1)
    for _, end, _, far in directions:
        assert end.written == far.read > 0
    cuts = talk.cuts(1)
    most = 0
    for _ in range(20):
        under_way = talk.under_way(next(cuts)[2])
        assert min(under_way) >= 0
        most = max(most, *under_way)
    assert most > 0


def test_bytes_under_way_come_once(talk: Talk) -> None:
    cuts = talk.cuts(2)
    many = (one for one in cuts if sum(talk.under_way(one[2])) > 2000)
    for _ in range(MANY or 2):
        talk.restart(*next(many))


def test_a_branch_of_a_branch_is_restarted(talk: Talk) -> None:
    """What was under way at the first cut was written again, and is under way at the second."""
    cuts = talk.cuts(4)
    first = talk.branch("first", *next(one for one in cuts if sum(talk.under_way(one[2])) > 2000))
    assert sum(first.under_way(Cut(dict.fromkeys(range(RANKS), 0), []))) > 2000
    second = first.branch("second", 0, 0, first.traffic.cut(0, 0))
    second.restart(*next(second.cuts(5)))


HELLO = 328  # bytes (rendezvous.c): the connection's key, and the proof
WAIT_S = 60.0
# Of the Python that starts a rank: rank 1 waits for the test.
GATE = """
import os
if os.environ.get("OMPI_COMM_WORLD_RANK") == "1":
    open(os.environ["GATE"]).close()
"""


def _until(what: str, found: Callable[[], object]) -> object:
    end_s = deadlines.Deadline(WAIT_S)
    while not (there := found()):
        assert not end_s.over(), what
        time.sleep(0.01)
    return there


def _rank_process(folder: Path) -> int | None:
    """Of the rank that is recorded there."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # it is over
            continue
        if b"--dir" in words and words[words.index(b"--dir") + 1] == os.fsencode(folder):
            return int(entry.name)
    return None


def _opened(gate: Path) -> bool:
    """Lets through who waits there; False: nobody does."""
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


@contextmanager
def _waits_at_its_door(talk: Talk, name: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A restart in which rank 0 has opened, and rank 2, which is to come by TCP, is stopped."""
    branch = talk.home / name
    accepted = next(end for end in talk.ends[0] if ">" in end.key)
    rank, event = next(
        (rank, event)
        for rank, event, cut in talk.cuts(6)
        if 0 < _total(accepted.reads, cut.events[0]) < accepted.read
    )
    hook = talk.folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(GATE)
    gate = hook / f"gate-{name}"
    os.mkfifo(gate)
    where = ["--rank", str(rank), "--at", str(event), "--name", name]
    process = subprocess.Popen(
        [sys.executable, "-m", "rdb", "restart", "talk", *where],
        env={
            **os.environ,
            **{"RDB_HOME": str(talk.home), "PYTHONPATH": str(hook), "GATE": str(gate)},
        },
        cwd=talk.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    held = None
    try:
        for other in (0, 2):
            _until("its ends", (branch / f"sockets-{other}").exists)
        held = _rank_process(branch / "rank-2")
        assert held is not None and not (branch / "sockets-1").exists()
        os.kill(held, signal.SIGSTOP)
        _until("rank 1", lambda: _opened(gate))
        _until("its doors", (branch / "doors-0").exists)
        yield process, held
    finally:
        if process.poll() is None:
            if held is not None:
                os.kill(held, signal.SIGCONT)
            process.terminate()
        deadlines.communicate(process, WAIT_S)
        talk.rdb("rm", name)


def _door(branch: Path) -> int:
    """A host's ranks meet on its loopback device alone."""
    doors = re.findall(r"^door (\d+) (.*)$", (branch / "doors-0").read_text(), re.M)
    assert [address for _, address in doors] == ["127.0.0.1"]
    return int(doors[0][0])


def test_a_stranger_at_the_door(talk: Talk) -> None:
    """Of another address none is open; who has not read the branch's files is not answered."""
    with _waits_at_its_door(talk, "door") as (process, held):
        port = _door(talk.home / "door")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port))
        ends = (talk.home / "door/sockets-2").read_text()
        key = next(one for one in re.findall(r"^end 1 \d+ \d+ (.*)$", ends, re.M) if ">" in one)
        for hello in (key.encode().ljust(HELLO - 8, b"\0") + b"8 bytes.", b"\0" * HELLO, b"short"):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(hello)
                stranger.shutdown(socket.SHUT_WR)
                stranger.settimeout(WAIT_S)
                assert stranger.recv(100) == b""
        os.kill(held, signal.SIGCONT)
        said, errors = deadlines.communicate(process, WAIT_S)
        assert process.returncode == 0, errors
        assert said and Counter(said.splitlines()) <= talk.said


def test_a_stranger_instead_of_the_door(talk: Talk) -> None:
    """Who connects gives the program no connection to somebody who cannot prove to be that rank."""
    doors = talk.home / "instead/doors-0"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        _waits_at_its_door(talk, "instead") as (process, held),
    ):
        port = _door(doors.parent)
        own = doors.with_name("moved")
        own.write_text(doors.read_text().replace(f" {port} ", f" {server.getsockname()[1]} "))
        own.rename(doors)
        os.kill(held, signal.SIGCONT)
        server.settimeout(WAIT_S)
        with server.accept()[0] as connection:
            assert len(connection.recv(HELLO, socket.MSG_WAITALL)) == HELLO
            connection.sendall(b"8 bytes.")
            _, errors = deadlines.communicate(process, WAIT_S)
        assert process.returncode == 125
        assert "another process than rank 0 answered" in errors


if MANY:

    def test_at_any_event(talk: Talk) -> None:
        cuts = talk.cuts(3)
        for _ in range(MANY):
            talk.restart(*next(cuts))


OUTSIDE = """
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	to.sin_port = htons(atoi(argv[1]));
	if (argc < 2 || connect(s, (void *)&to, sizeof(to)))
		return 2;
	return write(s, "hello", 5) == 5 ? 0 : 3;
}
"""


def test_a_peer_outside_of_the_job_is_refused(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = rdb("run", "--name", "out", "--", build_text("outside", OUTSIDE), port)
    assert done.returncode == 0, done.stderr
    recording = open_job("out").rank(0)
    event = next(
        one.event
        for one in recording.records()
        if one.kind.is_event and recording.describe(one.event).startswith("connect(")
    )
    refused = rdb("restart", "out", "--plan", "--at", str(event))
    assert refused.returncode != 0
    assert "connected to a process outside of the job (127.0.0.1/" in refused.stderr
