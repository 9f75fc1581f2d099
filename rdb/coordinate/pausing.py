"""Pausing ranks that still run, and resuming them, by SIGSTOP and SIGCONT.

The log holds each event as soon as it was answered, so a stopped rank's log is complete. Only the
owner of a process may send the signals.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from rdb.errors import RdbError
from rdb.recording import Job, RankRecording
from rdb.recording.state import PAUSED, RUNNING

_STOP_S = 5.0


class Pausing:
    """The processes of a job on this host.  `close` resumes those that this object has paused."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._paused: dict[int, list[RankRecording]] = {}

    def pause(self, ranks: Iterable[int]) -> dict[int, str | RdbError]:
        """Stops RANKS; returns the new state, or the error, of each."""
        return {rank: self._send(rank, signal.SIGSTOP) for rank in ranks}

    def resume(self, ranks: Iterable[int]) -> dict[int, str | RdbError]:
        return {rank: self._send(rank, signal.SIGCONT) for rank in ranks}

    def close(self) -> tuple[int, ...]:
        """Resumes the paused ranks and returns them."""
        ranks = tuple(sorted(self._paused))
        self.resume(ranks)
        return ranks

    def _send(self, rank: int, number: signal.Signals) -> str | RdbError:
        there = [one.main for one in self._job.process(rank).walk()]
        there = [one for one in there if one.state.lives]
        try:
            if not there:
                raise RdbError(f"it is not running: {self._job.process(rank).state}")
            # Parents first: a parent must not wait in vain for a stopped child, or start a child
            # meanwhile.
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
    """Waits up to _STOP_S seconds: a process that waits for a processor stops when it gets one."""
    deadline = time.monotonic() + _STOP_S
    while any(one.state == RUNNING for one in there) and time.monotonic() < deadline:
        time.sleep(0.001)


def signal_process(recording: RankRecording, number: signal.Signals) -> None:
    """Signals the process that writes this recording, never another process with the same id.

    RdbError: the process is gone or not the user's.
    """
    pid = int(recording.meta.get("pid", 0))
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise RdbError(f"process {pid} has ended: {error.strerror}") from error
    try:
        # While the handle is open the id cannot become another process's.
        if not recording.state.lives:
            raise RdbError(f"process {pid} has ended")
        signal.pidfd_send_signal(handle, number)
    except PermissionError as error:
        raise RdbError(f"process {pid} belongs to another user") from error
    finally:
        os.close(handle)
