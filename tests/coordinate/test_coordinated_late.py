"""Checkpoints of ranks that learn late that what they sent has been received."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, Running, naps, sums

from rdb.coordinate.board import Board, Slot, State, Verdict, board_path
from rdb.coordinate.coordinated import committed
from rdb.coordinate.request import send_request

WHOLE = ["rank 0 sum 0 more 0", "rank 1 sum 7 more 0", "rank 2 sum 80000200000 more 0"]


class Ranks:
    """Those of a job, which can be stopped one by one."""

    def __init__(self, job: Running) -> None:
        self.board = Board(board_path(job.home / job.name))

    def signal(self, rank: int, number: int) -> None:
        os.kill(self.board.slot(rank).pid, number)

    def until(self, rank: int, holds: Callable[[Slot], bool]) -> None:
        deadline = deadlines.Deadline(DEADLINE_S)
        while not holds(self.board.slot(rank)):
            assert not deadline.over(), self.board.slots()
            time.sleep(0.001)

    def until_it_has_looked_around(self, rank: int) -> None:
        """A rank that is held naps when it has found nothing to do, some hundred times."""
        before = naps(self.board.slot(rank).pid)
        self.until(rank, lambda slot: naps(slot.pid) > before + 2)


def held(slot: Slot) -> bool:
    return slot.state is State.HELD


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_send_that_is_received_before_its_sender_knows(
    mpi: str, tmp_path: Path, build: Build
) -> None:
    """It is not made again, and what its sender had from another rank meanwhile is not lost."""
    line = ("--mpi", mpi, "-n", "3", "--", str(build("mpi/coordinated_late.c")), "gate")
    one = Running(tmp_path / "home", tmp_path, "late", *line)
    one.until("half")
    one.until("half")
    ranks = Ranks(one)
    ranks.signal(2, signal.SIGSTOP)
    asks = threading.Thread(target=one.rdb, args=("checkpoint", "late", "--timeout", "90"))
    asks.start()
    ranks.until(0, held)
    ranks.until(1, held)
    ranks.until_it_has_looked_around(1)
    ranks.signal(1, signal.SIGSTOP)
    before = ranks.board.slot(2).received
    ranks.signal(2, signal.SIGCONT)
    ranks.until(2, lambda slot: held(slot) and slot.received == before + 1)
    ranks.until_it_has_looked_around(2)
    ranks.signal(1, signal.SIGCONT)
    asks.join(DEADLINE_S)
    assert [taken.number for taken in committed(one.home / "late")] == [1]
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    assert sums(said) == WHOLE
    again = Running(one.home, tmp_path, "again", "--at", "ckpt:1", restart="late")
    try:
        said, told = deadlines.communicate(again.process, DEADLINE_S)
    except subprocess.TimeoutExpired:
        again.kill()
        raise
    assert again.process.returncode == 0, told
    assert sums(said) == WHOLE


def test_a_message_under_way_to_a_rank_that_is_held(tmp_path: Path, build: Build) -> None:
    """All are held, and nobody waits for anything but that it has been received."""
    program = str(build("mpi/coordinated_under_way.c"))
    one = Running(tmp_path / "home", tmp_path, "sent", "-n", "2", "--", program, "gate")
    one.until("half")
    one.until("half")
    ranks = Ranks(one)
    ranks.signal(0, signal.SIGSTOP)
    asks = threading.Thread(target=one.rdb, args=("checkpoint", "sent", "--timeout", "90"))
    asks.start()
    ranks.until(1, held)
    ranks.until_it_has_looked_around(1)
    ranks.signal(1, signal.SIGSTOP)
    (tmp_path / "gate").touch()
    ranks.signal(0, signal.SIGCONT)
    ranks.until(0, lambda slot: held(slot) and slot.sent == 1)
    ranks.until_it_has_looked_around(0)
    assert ranks.board.verdict(1) is Verdict.OPEN
    ranks.signal(1, signal.SIGCONT)
    asks.join(DEADLINE_S)
    assert [taken.number for taken in committed(one.home / "sent")] == [1]
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    whole = ["rank 0 sum 37", "rank 1 sum 37"]
    assert sums(said) == whole
    done = one.rdb("restart", "sent")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole


def test_a_process_that_has_the_number_of_a_rank_is_left_alone(
    tmp_path: Path, build: Build
) -> None:
    """A rank signals others only, since the signal would end a stranger (signal(7))."""
    program = str(build("mpi/coordinated_under_way.c"))
    one = Running(tmp_path / "home", tmp_path, "used", "-n", "2", "--", program, "gate")
    one.until("half")
    one.until("half")
    board = Ranks(one).board
    pid = board.slot(0).pid
    os.kill(pid, signal.SIGSTOP)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        assert stranger.stdin is not None
        board.put_raw(0, struct.pack("<Ii", State.RUNS, stranger.pid) + board.raw(0)[8:])
        board.want()
        send_request(board.slot(1).pid)
        Ranks(one).until(
            1, lambda _: board.verdict(1) is not Verdict.OPEN or stranger.poll() is not None
        )
        stranger.stdin.close()
        assert deadlines.wait(stranger, DEADLINE_S) == 0
    assert (board.verdict(1), board.why) == (Verdict.NO, "rank 0 has ended, or has not begun")
    os.kill(pid, signal.SIGCONT)
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    assert sums(said) == ["rank 0 sum 37", "rank 1 sum 37"]
