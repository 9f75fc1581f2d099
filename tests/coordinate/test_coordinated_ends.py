"""A program that ends before its checkpoint is whole: it is finished, or never said to be.

A lease (fcntl(2), F_SETLEASE) stops the process that writes the checkpoint just before its last
file.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import deadlines
from running import DEADLINE_S, Running
from test_coordinated_calls import restarted

from rdb.coordinate.board import Board, board_path
from rdb.coordinate.coordinated import committed

BuildText = Callable[..., Path]
LAST = ".commit-1-0"

SOON = """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(100);
    puts("the end");
    return 3;
}
"""


class Asked:
    """A program whose checkpoint, which `asking` waits for, lacks its last file."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.one = Running(folder / "home", folder, "soon", "--", str(program))
        self.one.until("there")
        self.job = self.one.home / "soon"
        self.board = Board(board_path(self.job))
        self._last = os.open(self.job / LAST, os.O_RDONLY | os.O_CREAT)
        fcntl.fcntl(self._last, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored
        fcntl.fcntl(self._last, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        self.asking = subprocess.Popen(
            [sys.executable, "-m", "rdb", "checkpoint", "soon", "--timeout", "60"],
            env={**os.environ, "RDB_HOME": str(self.one.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadlines.wait_for(
            "the writer", lambda: fcntl.fcntl(self._last, fcntl.F_GETLEASE) == fcntl.F_UNLCK
        )

    def ends(self) -> None:
        (self.one.folder / "gate").touch()
        deadlines.wait_for("its end", lambda: not self.board.slot(0).lives)

    def go_on(self) -> None:
        if self._last >= 0:
            os.close(self._last)
            self._last = -1

    def answers(self) -> tuple[int, str, int]:
        """Exit code and errors of `rdb checkpoint`; exit code of `rdb run`."""
        _, errors = deadlines.communicate(self.asking, DEADLINE_S)
        deadlines.communicate(self.one.process, DEADLINE_S)
        return self.asking.returncode, errors, self.one.process.returncode


@contextmanager
def asked(folder: Path, program: Path) -> Iterator[Asked]:
    it = Asked(folder, program)
    try:
        yield it
    finally:
        it.go_on()
        (folder / "gate").touch()
        it.answers()


def test_the_end_of_the_program_waits_for_no_checkpoint_but_rdb_does(
    tmp_path: Path, build_text: BuildText
) -> None:
    with asked(tmp_path, build_text("soon", SOON)) as it:
        it.ends()
        assert it.board.slot(0).written == 1 and not committed(it.job)
        for _ in range(50):
            assert it.asking.poll() is None and it.one.process.poll() is None
            time.sleep(0.005)
        it.go_on()
        assert it.answers() == (0, "", 3)
        assert [one.number for one in committed(it.job)] == [1]
        assert restarted(it.one, "soon", 3) == ["the end"]


def test_what_writes_it_is_killed(tmp_path: Path, build_text: BuildText) -> None:
    with asked(tmp_path, build_text("soon", SOON)) as it:
        os.kill(it.board.slot(0).writer, signal.SIGKILL)
        _, errors = deadlines.communicate(it.asking, DEADLINE_S)
        assert it.asking.returncode == 1
        assert "what wrote checkpoint 1 of soon was killed" in errors
        it.ends()
        it.go_on()
        assert it.answers()[2] == 3
        assert not it.job.exists()  # it has no checkpoint


def test_the_last_file_cannot_be_written(tmp_path: Path, build_text: BuildText) -> None:
    one = Running(tmp_path / "home", tmp_path, "full", "--", str(build_text("full", SOON)))
    one.until("there")
    (one.home / "full" / LAST).mkdir()
    said = one.rdb("checkpoint", "full", "--timeout", "60")
    assert said.returncode == 1
    assert "rank 0 of full could not write checkpoint 1" in said.stderr
    again = one.rdb("checkpoint", "full", "--timeout", "60")
    assert again.returncode == 0, again.stderr
    (tmp_path / "gate").touch()
    deadlines.communicate(one.process, DEADLINE_S)
    assert [whole.number for whole in committed(one.home / "full")] == [2]
