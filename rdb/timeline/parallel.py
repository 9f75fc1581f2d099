"""Several replicas at a time, one for each processor: parts of a long search run in parallel.

Threads only run their own replicas.  The timeline's thread forks the replicas and evaluates their
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from rdb.timeline.walker import Walker

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")


class Task(Generic[T]):
    """Work with walkers that only it uses; closes them at its end."""

    def __init__(
        self, pool: ThreadPoolExecutor, walkers: Sequence[Walker], work: Callable[[], T]
    ) -> None:
        self._walkers = walkers
        self._future: Future[T] = pool.submit(self._run, work)

    def _run(self, work: Callable[[], T]) -> T:
        try:
            return work()
        finally:
            self._close()

    def wait(self, timeout_s: float) -> bool:
        try:
            self._future.exception(timeout_s)
        except TimeoutError:
            return False
        return True

    def result(self) -> T:
        return self._future.result()

    def drop(self) -> None:
        """Cancels the task; its result is not needed."""
        if self._future.cancel():
            self._close()
        elif not self._future.done():
            for walker in self._walkers:
                walker.control.drop(walker.agent)

    def _close(self) -> None:
        for walker in self._walkers:
            walker.close()


class SideBySide(Generic[T]):
    """Tasks in order.  At the end of `side_by_side`, tasks under way are dropped."""

    def __init__(self, jobs: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # imported late: opening must be fast

        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="rdb-search")
        self.tasks: list[Task[T]] = []

    def add(self, work: Callable[[], T], *walkers: Walker) -> Task[T]:
        task = Task(self._pool, walkers, work)
        self.tasks.append(task)
        return task

    def close(self) -> None:
        for task in self.tasks:
            task.drop()
        self._pool.shutdown(wait=True)


@contextmanager
def side_by_side(group: SideBySide[T]) -> Iterator[SideBySide[T]]:
    try:
        yield group
    finally:
        group.close()
