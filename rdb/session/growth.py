"""Which recordings have grown since somebody asked, at a cost that does not depend on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rdb.session.ranks import Rank


class GlanceLike(Protocol):
    """What a rank is and how it ended (rdb.recording.rank.RankGlance)."""

    @property
    def state(self) -> str: ...
    @property
    def last_event(self) -> int: ...
    def grown(self) -> bool: ...
    def refresh(self) -> None: ...


class RankLike(Protocol):
    def glance(self) -> GlanceLike: ...


class JobLike(Protocol):
    """What is asked of a job here."""

    def rank(self, rank: Rank, /) -> RankLike: ...


class Growth:
    """Each rank counts as grown when it is asked about for the first time."""

    def __init__(self, job: JobLike) -> None:
        self._job = job
        self._seen: dict[Rank, GlanceLike] = {}

    def since_last(self, ranks: Iterable[Rank]) -> list[Rank]:
        """Those of RANKS that may have more events than when this was called before."""
        grown = []
        for rank in ranks:
            seen = self._seen.get(rank)
            if seen is None or seen.state.startswith("became "):  # another program by now
                self._seen[rank] = seen = self._job.rank(rank).glance()
            elif not seen.grown():
                continue
            else:
                seen.refresh()
            # Looked at before anybody reads the rest: what comes later is seen the next time.
            _ = seen.last_event
            grown.append(rank)
        return grown

    def running(self) -> bool:
        """May any of them get more?"""
        return any(
            one.state == "running" or one.state.startswith("open on ")
            for one in self._seen.values()
        )
