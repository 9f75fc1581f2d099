"""Deadlines that a machine with much else to do does not exceed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

DEADLINE_S = 90
_LOOK_S = 1.0


class Deadline:
    """So many seconds, without those in which something below this process waited for a processor.

    The first half is a matter of the clock: nothing is looked at where all goes well.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._at = time.monotonic()
        self._wait_s = seconds / 2
        self._waited_ns: dict[str, int] | None = None

    def over(self) -> bool:
        passed = time.monotonic() - self._at
        if passed >= self._wait_s:
            self._count(passed)
        return self._left <= 0

    def next_s(self) -> float:
        """Not later than this it wants to be asked again."""
        return max(self._at + self._wait_s - time.monotonic(), 0.01)

    def _count(self, passed: float) -> None:
        waited_ns, before = dict(_run_queue_waits(os.getpid())), self._waited_ns
        starved = 0.0
        if before is not None and waited_ns:
            starved = max(ns - before.get(task, 0) for task, ns in waited_ns.items()) / 1e9
        self._left -= max(passed - starved, 0)
        self._at += passed
        self._wait_s = _LOOK_S
        self._waited_ns = waited_ns


def _run_queue_waits(process: int | str) -> Iterator[tuple[str, int]]:
    """How long each thread of the processes below has been runnable, but not run."""
    for task in Path(f"/proc/{process}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            for thread in Path(f"/proc/{child}/task").glob("*"):
                try:
                    yield thread.name, int((thread / "schedstat").read_text().split()[1])
                except OSError:
                    continue
            yield from _run_queue_waits(child)


def communicate(process: Any, seconds: float, input: Any = None) -> tuple[Any, Any]:
    """process.communicate(input), until the deadline."""
    deadline = Deadline(seconds)
    while True:
        try:
            said, told = process.communicate(input, timeout=deadline.next_s())
            return said, told
        except subprocess.TimeoutExpired as late:
            input = None  # it is being sent
            if deadline.over():
                late.timeout = seconds
                raise


def wait(process: Any, seconds: float) -> int:
    """process.wait(), until the deadline."""
    deadline = Deadline(seconds)
    while True:
        try:
            code: int = process.wait(timeout=deadline.next_s())
            return code
        except subprocess.TimeoutExpired as late:
            if deadline.over():
                late.timeout = seconds
                raise


def run(
    command: Sequence[Any], seconds: float, input: Any = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """subprocess.run with its output captured, until the deadline."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with subprocess.Popen(command, **options) as process:
        try:
            out, err = communicate(process, seconds, input)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def native(
    command: list[Any], check: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]:
    """A program without rdb.  CalledProcessError, if CHECK is given and it fails."""
    done = run([str(word) for word in command], DEADLINE_S, **options)
    if check:
        done.check_returncode()
    return done


def wait_for(what: str, true: Callable[[], bool]) -> None:
    deadline = Deadline(DEADLINE_S)
    while not true():
        assert not deadline.over(), f"{what}: not within {DEADLINE_S} s"
        time.sleep(0.02)
