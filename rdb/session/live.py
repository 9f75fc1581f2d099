"""Ranks that still run, here and on other hosts: pausing them, fetching what they recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from rdb.coordinate.pausing import Pausing
from rdb.errors import RdbError
from rdb.recording import Job
from rdb.session.ranks import Rank


class ElsewhereLike(Protocol):
    """Requests to agents on other hosts (rdb/agents/elsewhere.py)."""

    def signal(self, operation: str, ranks: Collection[int], /) -> dict[int, str | RdbError]: ...
    def fetch(self, ranks: Collection[int] | None = None, /) -> int: ...


class Live:
    """The processes of a job.  Those that this session has paused go on at `close`."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._here = Pausing(job)
        self.elsewhere: ElsewhereLike | None = None

    def pause(self, ranks: Iterable[Rank]) -> dict[Rank, str | RdbError]:
        """Pauses ranks; rank -> PAUSED, or the error."""
        return self._send("pause", self._here.pause, ranks)

    def resume(self, ranks: Iterable[Rank]) -> dict[Rank, str | RdbError]:
        return self._send("resume", self._here.resume, ranks)

    def fetch(self, ranks: Iterable[Rank]) -> None:
        """Copies new records of ranks whose logs no shared file system shows."""
        if self.elsewhere is not None:
            self.elsewhere.fetch(tuple(ranks))

    def close(self) -> tuple[Rank, ...]:
        """Resumes the ranks that this session has paused here; agents resume theirs."""
        return self._here.close()

    def _send(
        self,
        operation: str,
        here: Callable[[Iterable[int]], dict[int, str | RdbError]],
        ranks: Iterable[Rank],
    ) -> dict[Rank, str | RdbError]:
        ranks = list(ranks)
        far = [rank for rank in ranks if self._job.process(rank).state.elsewhere]
        found = here([rank for rank in ranks if rank not in far])
        if far and self.elsewhere is not None:
            answers = self.elsewhere.signal(operation, far)
            found.update(
                {rank: answers.get(rank, RdbError("its host does not answer")) for rank in far}
            )
        elif far:
            found.update({rank: RdbError(self._job.process(rank).state) for rank in far})
        return dict(sorted(found.items()))
