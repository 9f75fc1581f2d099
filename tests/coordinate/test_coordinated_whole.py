"""A checkpoint without a log needs all: the files of all ranks, all threads at rest."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

import deadlines
from conftest import Build
from running import DEADLINE_S, Running, sums
from test_coordinated_calls import restarted

from rdb.coordinate.board import Board, board_path
from rdb.coordinate.coordinated import committed

BuildText = Callable[..., Path]
_SEIZE, _INTERRUPT, _DETACH, _WALL = 0x4206, 0x4207, 17, 0x40000000

TWO = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long steps;
static void *other(void *arg)
{
    for (; access("gate", F_OK); steps++)
        usleep(100);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    puts("there");
    fflush(stdout);
    pthread_join(t, NULL);
    puts(steps ? "both went on" : "it never ran");
    return 0;
}
"""


def test_a_rank_that_cannot_write_its_part_makes_it_none(tmp_path: Path, build: Build) -> None:
    program = str(build("mpi/coordinated_mpi.c"))
    one = Running(tmp_path / "home", tmp_path, "part", "-n", "2", "--", program, "6", "gate")
    one.until("half")
    job = one.home / "part"
    in_the_way = job / "rank-1/state-1.part"
    in_the_way.mkdir()
    failed = one.rdb("checkpoint", "part", "--timeout", "90")
    assert failed.returncode == 1, failed.stdout
    assert "rank 1 of part could not write checkpoint 1" in failed.stderr
    slots, until = Board(board_path(job)), deadlines.Deadline(DEADLINE_S)
    while slots.slot(0).written < 1:
        assert not until.over()
        time.sleep(0.01)
    assert committed(job) == []
    taken = one.rdb("checkpoint", "part", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    assert [whole.number for whole in committed(job)] == [2]
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    done = one.rdb("restart", "part")
    assert done.returncode == 0 and sums(done.stdout) == sums(said), done.stderr


def _stop(thread: int) -> Callable[[], None]:
    """ptrace(2): it alone, until what is returned is called."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ask(what: int) -> None:
        assert libc.ptrace(what, thread, None, None) == 0, os.strerror(ctypes.get_errno())

    ask(_SEIZE)
    ask(_INTERRUPT)
    os.waitpid(thread, _WALL)
    return lambda: ask(_DETACH)


def test_a_thread_that_does_not_come_to_rest_is_waited_for(
    tmp_path: Path, build_text: BuildText
) -> None:
    program = build_text("two", TWO, "-pthread")
    one = Running(tmp_path / "home", tmp_path, "two", "--", str(program))
    one.until("there")
    pid = Board(board_path(one.home / "two")).slot(0).pid
    threads = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    go_on = _stop(threads[1])
    late = one.rdb("checkpoint", "two", "--timeout", "2")
    go_on()
    assert late.returncode == 1, late.stdout
    assert "could be stopped within 2 s" in late.stderr
    assert committed(one.home / "two") == []
    taken = one.rdb("checkpoint", "two", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and said == "both went on\n", told
    assert restarted(one, "two") == ["both went on"]
