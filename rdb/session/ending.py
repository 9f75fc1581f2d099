"""Work that is carried out to its end, also if whoever waits for it is cancelled, once or more."""

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
    """A cancellation is raised when the work is done."""

    @functools.wraps(work)
    async def carried_out(*args: P.args, **named: P.kwargs) -> T:
        task = asyncio.ensure_future(work(*args, **named))
        # A second Ctrl-C ends it; asyncio would show where.
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
    """As asyncio.gather, but all have ended when it does: one fails, or it is cancelled, and the
    others are cancelled and waited for."""
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
