"""Undoing the part of an operation that was done, if the rest fails or is interrupted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        undo()
        raise


@asynccontextmanager
async def on_failure_await(undo: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    try:
        yield
    except BaseException:
        await undo()
        raise
