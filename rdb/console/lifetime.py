"""Running a session so that whatever ends it ends every GDB, too."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


def supervised(work: Coroutine[Any, Any, int]) -> int:
    """Runs WORK to its exit code; a signal cancels it: 130 for Ctrl-C, 128 + number for others."""
    try:
        return asyncio.run(_until_signal(work))
    except KeyboardInterrupt:
        return 130


async def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not ended_by:
            raise
        return 128 + ended_by[0]
