"""Which recordings have grown since the last question, at a cost independent of their size."""

from __future__ import annotations

from collections.abc import Iterable

from rdb.recording import Job, RankRecording
from rdb.recording.state import RUNNING
from rdb.session.ranks import Rank


class Growth:
    """Notes how far recordings are.  A rank counts as grown at the first question about it."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._seen: dict[Rank, RankRecording] = {}

    def since_last(self, ranks: Iterable[Rank]) -> list[Rank]:
        """Those of RANKS that may have more events than at the last call."""
        grown = []
        for rank in ranks:
            seen = self._seen.get(rank)
            if seen is None or seen.state.became:  # it runs another program now
                self._seen[rank] = seen = self._job.rank(rank).glance()
            elif not seen.grown():
                continue
            else:
                seen.refresh()
            # Read now, before the caller reads the log: later events count as growth next time.
            _ = seen.last_event
            grown.append(rank)
        return grown

    def running(self) -> bool:
        """May any of the ranks record more?"""
        return any(one.state == RUNNING or one.state.elsewhere for one in self._seen.values())
