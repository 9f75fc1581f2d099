"""Independent work, side by side: one function of each rank.

Here the face and the processes of this machine; rdb/dask.py has the workers of many.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rdb.errors import RdbError

if TYPE_CHECKING:
    from concurrent.futures import Future

_PR_SET_PDEATHSIG = 1  # prctl(2)
_SAY_S = 5.0
T = TypeVar("T")
R = TypeVar("R")


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


class Executor(Protocol):
    """An item is a rank, or has `rank`.  FUNCTION is one of a module, and items can be pickled, if
    workers may be on other hosts."""

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """Answers in the order of ITEMS, each as soon as it is there."""
        ...


def wait_for(part: Future[Any], parts: Sequence[Future[Any]], what: str) -> bool:
    """Waits at most 5 s for PART of PARTS, the work on a WHAT each, and then says how far all are.

    False: it is not done.
    """
    from concurrent.futures import wait  # late import: a job of one rank needs no workers

    if wait([part], _SAY_S).done:
        return True
    plural = "es" if what.endswith("s") else "s"
    done = sum(one.done() for one in parts)
    print(f"rdb: {done} of {len(parts)} {what}{plural} done", file=sys.stderr)
    return False


class Processes:
    """Worker processes of this machine, one for each processor.

    The workers are forks, so FUNCTION and ITEMS may be any; answers are pickled.  They end with
    this process.
    """

    def __init__(self, what: str, jobs: int | None = None) -> None:
        """WHAT: what an item is, for messages, such as `rank`."""
        self._what, self._jobs = what, jobs or processors()

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        workers = min(len(items), self._jobs)
        if workers <= 1:
            return map(function, items)
        return self._map(function, items, workers)

    def _map(
        self, function: Callable[[T], R], items: Sequence[T], workers: int
    ) -> Generator[R, None, None]:
        import multiprocessing  # late imports: a job of one rank needs no workers
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        fork = multiprocessing.get_context("fork")
        with _one_interrupt():
            try:
                pool = ProcessPoolExecutor(workers, fork, _begin, (os.getpid(), function, items))
            except (OSError, NotImplementedError):  # no semaphores: there is no /dev/shm
                yield from map(function, items)
                return
            # Workers fork in submit() and inherit the blocked SIGINT until they have a handler.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                parts = [pool.submit(_carry_out, number) for number in range(len(items))]
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                for item, part in zip(items, parts, strict=True):
                    while not wait_for(part, parts, self._what):
                        pass
                    try:
                        answer = part.result()
                    except BrokenProcessPool:
                        raise RdbError(
                            f"a worker process was killed; {self._what} {item} has no answer",
                            "is there enough memory? dmesg tells",
                        ) from None
                    yield answer
                pool.shutdown()
            except BaseException:  # in shutdown() too: the workers would wait for work for ever
                for process in multiprocessing.active_children():
                    process.terminate()
                pool.shutdown()  # its thread has ended then: the interpreter's end may not meet it
                raise


@contextmanager
def _one_interrupt() -> Iterator[None]:
    """Ignores further Ctrl-C after the first: the first one ends the process."""

    def interrupted(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    yield
    signal.signal(signal.SIGINT, before)  # not restored after an interrupt: the process is ending


_work: tuple[Callable[[Any], Any], Sequence[Any]]
_at_work = False  # in FUNCTION, which cleans up when the worker is ended


def _begin(parent: int, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    """In a worker.  The terminal's Ctrl-C is for the parent, which ends its workers by SIGTERM."""
    global _work
    import ctypes

    _work = function, items
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent has ended before prctl()
        os._exit(1)
    signal.signal(signal.SIGINT, lambda *_: None)  # not ignored: programs that it starts are not
    signal.signal(signal.SIGTERM, _ended)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _ended(*_: object) -> None:
    # Elsewhere an exception could leave a lock of the queues taken, or be sent as an answer.
    if not _at_work:
        os._exit(1)
    raise SystemExit


def _carry_out(number: int) -> Any:
    global _at_work
    function, items = _work
    try:
        try:
            _at_work = True
            return function(items[number])
        finally:
            _at_work = False
    except SystemExit:
        os._exit(1)
