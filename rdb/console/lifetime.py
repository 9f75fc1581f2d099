"""Runs a session so that all its GDBs end with it, whatever ends it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

_HEED_S = 0.5


def supervised(work: Coroutine[Any, Any, int]) -> int:
    """Runs WORK and returns its exit code.

    SIGINT, SIGTERM and SIGHUP cancel WORK; the code then is 128 + the signal's number.
    """
    try:
        return asyncio.run(_until_signal(work))
    except KeyboardInterrupt:
        return 130


async def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    ended_by: list[int] = []

    def end(number: int) -> None:
        if not ended_by:  # a second signal during the cleanup changes nothing
            task.cancel()
        ended_by.append(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        with _on_ctrl_c(end):
            return await task
    except asyncio.CancelledError:
        if not ended_by:
            raise
        return 128 + ended_by[0]


@contextmanager
def _on_ctrl_c(end: Any) -> Iterator[None]:
    """Ctrl-C cancels the work; further ones do not disturb the cleanup.

    If the loop has not run for _HEED_S seconds since the first Ctrl-C, the next one raises
    KeyboardInterrupt.
    """
    loop = asyncio.get_running_loop()
    first_s: list[float] = []
    heard: list[int] = []

    def hear() -> None:
        heard.append(signal.SIGINT)
        end(signal.SIGINT)

    def press(number: int, frame: Any) -> None:
        if first_s and not heard and time.monotonic() > first_s[0] + _HEED_S:
            loop.set_exception_handler(lambda *_: None)  # silence the tasks that end anywhere
            raise KeyboardInterrupt
        first_s.append(time.monotonic())
        loop.call_soon_threadsafe(hear)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
