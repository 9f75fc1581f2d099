"""Programs that run without a log, and their checkpoints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import deadlines
from conftest import run_rdb

from rdb.coordinate.board import Board, State, board_path
from rdb.errors import DamagedRecording

BuildText = Callable[..., Path]


DEADLINE_S = 90.0


def all_run(path: Path) -> bool:
    try:
        return all(slot.state is State.RUNS for slot in Board(path).slots())
    except DamagedRecording:  # it is being made
        return False


def naps(pid: int) -> int:
    """How often a process has given the processor away by itself (proc_pid_status(5))."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", status, re.MULTILINE)
    assert found
    return int(found[1])


class Running:
    """A program that has come to where it waits for a file."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        name: str,
        *command: str,
        restart: str | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self.home, self.folder, self.name = home, folder, name
        named = ["--name", name] if name else []
        begin = ["restart", restart] if restart else ["run", "--record=off"]
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "rdb", *begin, *named, *command],
            cwd=folder,
            env={**os.environ, "RDB_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until(self, line: str) -> None:
        assert self.process.stdout is not None
        for said in self.process.stdout:
            if line in said:
                return
        raise AssertionError(f"it never said {line}: {self.process.communicate()}")

    def until_all_run(self) -> None:
        """The ranks of a restart say nothing when they go on."""
        until = deadlines.Deadline(DEADLINE_S)
        path = board_path(self.home / self.name)
        while not path.exists() or not all_run(path):
            assert not until.over() and self.process.poll() is None
            time.sleep(0.02)

    def kill(self) -> str:
        board = Board(board_path(self.home / self.name))
        for slot in board.slots():
            os.kill(slot.pid, signal.SIGKILL)
        return deadlines.communicate(self.process, DEADLINE_S)[1]

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)


RANKS = 3


def sums(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if line.startswith("rank "))


def sums_after(one: Running, checkpoints: int) -> list[str]:
    """Takes so many checkpoints, and lets it go on to its end."""
    for number in range(1, checkpoints + 1):
        taken = one.rdb("checkpoint", one.name, "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
        assert f"rank 0: checkpoint {number}" in taken.stdout
    (one.folder / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    return sums(said)
