"""Coroutines that run to their end even if the task that waits for them is cancelled."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def to_its_end(
    work: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorator: a cancellation is raised only when the work is done."""

    @functools.wraps(work)
    async def carried_out(*args: P.args, **named: P.kwargs) -> T:
        task = asyncio.ensure_future(work(*args, **named))
        # A second Ctrl-C ends it; without this asyncio would print a traceback.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        cancelled = False
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled and not task.cancelled() and task.exception() is None:
            raise asyncio.CancelledError
        return task.result()

    return carried_out


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """As asyncio.gather, but no task outlives it: if one fails, or if this is cancelled, the others
    are cancelled and waited for."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await _over(tasks)
        raise


@to_its_end
async def _over(tasks: list[asyncio.Task[T]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
