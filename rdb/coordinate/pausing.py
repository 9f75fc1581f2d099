"""Ranks that still run: stopping them for a while, and letting them go on.

SIGSTOP and SIGCONT do it: the log holds each event as soon as it was answered, so a stopped rank's
is whole.  Only who owns the processes may send them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from typing import Protocol

from rdb.errors import RdbError
from rdb.recording import Process, RankRecording

PAUSED, RUNNING = "paused", "running"
_STOP_S = 5.0


class JobLike(Protocol):
    """What is asked of a job here."""

    def process(self, rank: int, /) -> Process: ...


class Pausing:
    """The processes of a job on this host; what was paused by this goes on when it is closed."""

    def __init__(self, job: JobLike) -> None:
        self._job = job
        self._paused: dict[int, list[RankRecording]] = {}

    def pause(self, ranks: Iterable[int]) -> dict[int, str | RdbError]:
        """What became of each rank."""
        return {rank: self._send(rank, signal.SIGSTOP) for rank in ranks}

    def resume(self, ranks: Iterable[int]) -> dict[int, str | RdbError]:
        return {rank: self._send(rank, signal.SIGCONT) for rank in ranks}

    def close(self) -> tuple[int, ...]:
        """Lets go what was paused; which ranks those were."""
        ranks = tuple(sorted(self._paused))
        self.resume(ranks)
        return ranks

    def _send(self, rank: int, number: signal.Signals) -> str | RdbError:
        there = [one.main for one in self._job.process(rank).walk()]
        there = [one for one in there if one.state in (PAUSED, RUNNING)]
        try:
            if not there:
                raise RdbError(f"it does not run: {self._job.process(rank).state}")
            # A parent first: it is not to wait for a child in vain, or to start one meanwhile.
            for one in there:
                signal_process(one, number)
        except RdbError as error:
            return error
        if number == signal.SIGSTOP:
            self._paused[rank] = there
            _until_stopped(there)
            return PAUSED
        self._paused.pop(rank, None)
        return RUNNING


def _until_stopped(there: Iterable[RankRecording]) -> None:
    """One that waits for a processor stops when it gets one."""
    deadline = time.monotonic() + _STOP_S
    while any(one.state == RUNNING for one in there) and time.monotonic() < deadline:
        time.sleep(0.001)


def signal_process(recording: RankRecording, number: signal.Signals) -> None:
    """To the process that writes this recording, and to no other that has its number by now."""
    pid = int(recording.meta.get("pid", 0))
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise RdbError(f"process {pid} is gone: {error.strerror}") from error
    try:
        # Looked at while the handle is held: from here on the number cannot become another's.
        if recording.state not in (PAUSED, RUNNING):
            raise RdbError(f"process {pid} is gone")
        signal.pidfd_send_signal(handle, number)
    except PermissionError as error:
        raise RdbError(f"process {pid} is not yours") from error
    finally:
        os.close(handle)
