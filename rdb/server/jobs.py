"""Runs one long operation at a time on a thread, so that interrupts can be read meanwhile."""

from __future__ import annotations

import os
import queue
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rdb.errors import system_errors
from rdb.server.packets import SIGNALS_S


class Job:
    """An operation.  `wait` returns True once it is over; `result()` returns its result or raises
    its exception, RdbError for an OSError."""

    def __init__(self, work: Callable[[], Any], wake_fd: int) -> None:
        self._work = work
        self._wake_fd = wake_fd
        self._value: Any = None
        self._error: BaseException | None = None
        self._over = threading.Event()

    def run(self) -> None:
        try:
            with system_errors():
                self._value = self._work()
        except BaseException as error:  # noqa: BLE001 - result() raises it
            self._error = error
        self._over.set()
        with suppress(BlockingIOError):  # the pipe is full, so it is readable
            os.write(self._wake_fd, b"!")

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        return self._over.wait(timeout_s)

    def result(self) -> Any:
        self._over.wait()
        if self._error is not None:
            raise self._error
        return self._value


class Worker:
    """The thread that runs jobs, and a pipe that becomes readable when a job is over."""

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rdb-timeline", daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], Any]) -> Job:
        job = Job(work, self._write_fd)
        self._jobs.put(job)
        return job

    def wait(self, job: Job, input_fd: int, on_input: Callable[[], bool]) -> None:
        """Waits until the job is over.  Calls `on_input` at input until it returns False."""
        listening = True
        while not job.over:
            fds = [self._read_fd, input_fd] if listening else [self._read_fd]
            ready, _, _ = select.select(fds, [], [], SIGNALS_S)
            if input_fd in ready:
                listening = on_input()
            if self._read_fd in ready:
                os.read(self._read_fd, 4096)

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        os.close(self._read_fd)
        os.close(self._write_fd)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job.run()
