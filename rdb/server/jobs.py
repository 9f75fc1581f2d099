"""One long operation at a time, on a thread of its own, so that an interrupt can be heard."""

from __future__ import annotations

import os
import queue
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Job:
    """An operation under way.  `wait` gives True once it is over; then `result()` may be asked."""

    def __init__(self, work: Callable[[], Any], wake_fd: int) -> None:
        self._work = work
        self._wake_fd = wake_fd
        self._value: Any = None
        self._error: BaseException | None = None
        self._over = threading.Event()

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error
        self._over.set()
        with suppress(BlockingIOError):  # many wait to be read: whoever looks there will wake
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
    """The thread that runs jobs, and a descriptor that becomes readable when one is over."""

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
        """Until the job is over; calls `on_input` when there is input (False: listen no more)."""
        listening = True
        while not job.over:
            fds = [self._read_fd, input_fd] if listening else [self._read_fd]
            ready, _, _ = select.select(fds, [], [])
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
