"""Asking a running job for a checkpoint: by a signal that only its owner can send."""

from __future__ import annotations

import ctypes
import os
import time

from rdb.errors import RdbError
from rdb.recording import Job, RankRecording
from rdb.recording.checkpoints import Checkpoint, read_images

_SIGNAL = 64  # SIGNALS_REMINDER in interposer/task/signals.h
_VALUE = 0x7264622D636B7074  # SIGNALS_CHECKPOINT
_LOOK_S = 0.02


def running(job: Job) -> list[RankRecording]:
    """The programs of the job that run on this machine."""
    return [
        process.programs[-1]
        for process in job.processes()
        if process.programs[-1].glance().state == "running"
    ]


def request(recording: RankRecording) -> int:
    """Asks for one; the number that the newest image had before, or -1."""
    before = max((image.number for image in read_images(recording.path)), default=-1)
    send_request(int(recording.meta["pid"]), f"rank {recording.name}, ")
    return before


def send_request(pid: int, what: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.sigqueue(pid, _SIGNAL, ctypes.c_void_p(_VALUE)):
        code = ctypes.get_errno()
        raise RdbError(f"{what}process {pid}: {os.strerror(code)}")


def taken(recording: RankRecording, before: int, until_s: float) -> Checkpoint | None:
    """The image that is newer than that one, as soon as it is finished; None: not in time."""
    while True:
        newer = [image for image in read_images(recording.path) if image.number > before]
        if newer:
            return newer[-1]
        if time.monotonic() > until_s or recording.glance().state != "running":
            return None
        time.sleep(_LOOK_S)
