"""Asks a running job for a checkpoint, by a signal that only the job's owner can send."""

from __future__ import annotations

import errno
import os
import struct
import time
from threading import Event
from typing import Any

from rdb.errors import RdbError
from rdb.process_stat import lives
from rdb.recording import Job, RankRecording
from rdb.recording.checkpoints import Checkpoint, read_images
from rdb.recording.rank import runs_rdb
from rdb.recording.state import RUNNING

_SIGNAL = 64  # SIGNALS_REMINDER in interposer/task/signals.h
_VALUE = 0x7264622D636B7074  # SIGNALS_CHECKPOINT
_SIGINFO = struct.Struct("<iii4xiIQ96x")  # siginfo_t of sigqueue(3)
_SI_QUEUE = -1
_PIDFD_SEND_SIGNAL = 424
_LOOK_S = 0.02


def running(job: Job) -> list[RankRecording]:
    """The programs of the job that run on this host."""
    return [
        process.programs[-1]
        for process in job.processes()
        if process.programs[-1].glance().state == RUNNING
    ]


def request(recording: RankRecording) -> int:
    """Asks for a checkpoint; returns the number of the newest image so far, or -1."""
    before = max((image.number for image in read_images(recording.path)), default=-1)
    send_request(int(recording.meta["pid"]))
    return before


def send_request(pid: int, start_ticks: int | None = None) -> None:
    """Signals the rank PID that began at START_TICKS (None: not known).

    Any other process with that number would die of the signal.
    """
    import ctypes  # late import: most that ask about a job's checkpoints send no signal

    libc = ctypes.CDLL(None, use_errno=True)
    info = _SIGINFO.pack(_SIGNAL, 0, _SI_QUEUE, os.getpid(), os.getuid(), _VALUE)
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise RdbError(f"process {pid}: {error.strerror}") from error
    try:
        # While the handle is open a signal through it reaches no later process with the number.
        there = runs_rdb(pid) and (start_ticks is None or lives(pid, start_ticks))
        code = 0 if there else errno.ESRCH
        if not code and libc.syscall(_PIDFD_SEND_SIGNAL, handle, _SIGNAL, info, 0):
            code = ctypes.get_errno()
    finally:
        os.close(handle)
    if code:
        raise RdbError(f"process {pid}: {os.strerror(code)}")


def checkpoint_all(job: Job, timeout_s: int, given_up: Event | None = None) -> list[dict[str, Any]]:
    """Asks all programs of the job on this host for a checkpoint, then waits for each.

    GIVEN_UP: nobody waits any longer.  Returns for each program the number and the event of its
    checkpoint, or the error.
    """
    given_up = given_up or Event()
    asked: list[tuple[RankRecording, int]] = []
    rows: list[dict[str, Any]] = []
    for recording in running(job):
        try:
            asked.append((recording, request(recording)))
        except RdbError as error:  # it may have ended just now
            rows.append({"process": recording.name, "error": error.message})
    until_s = time.monotonic() + timeout_s
    for recording, before in asked:
        image = _taken(recording, before, until_s, given_up)
        row: dict[str, Any] = {"process": recording.name}
        if image is not None:
            row.update(number=image.number, event=image.event)
        elif recording.glance().state == RUNNING:
            row["error"] = (
                f"it had no event for {timeout_s} s; its checkpoint will be taken at its next event"
            )
        else:
            row["error"] = "it has ended"
        rows.append(row)
    return rows


def _taken(
    recording: RankRecording, before: int, until_s: float, given_up: Event
) -> Checkpoint | None:
    """Waits for an image with a number above BEFORE.

    None: UNTIL_S (time.monotonic) has passed, or the program has ended.
    """
    while True:
        newer = [image for image in read_images(recording.path) if image.number > before]
        if newer:
            return newer[-1]
        if time.monotonic() > until_s or recording.glance().state != RUNNING:
            return None
        if given_up.wait(_LOOK_S):
            return None
