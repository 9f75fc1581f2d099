"""Lines of a script, a file or a pipe, read without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterable
from typing import TextIO, cast


async def read_lines(lines: Iterable[str] | TextIO) -> AsyncIterator[str]:
    descriptor = _pipe(lines)
    if descriptor is None:
        for line in lines:
            yield line
        return
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), cast(TextIO, lines)
    )
    try:
        while line_bytes := await reader.readline():
            yield line_bytes.decode(errors="replace")
    finally:
        transport.close()


def _pipe(lines: Iterable[str] | TextIO) -> int | None:
    """The descriptor, if a read may block and epoll can wait: a pipe or a socket; else None."""
    if not hasattr(lines, "fileno"):
        return None
    descriptor: int = lines.fileno()
    mode = os.fstat(descriptor).st_mode
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None
