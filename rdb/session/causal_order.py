"""The causal order of findings in several ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.recording.messages.clocks import Clocks
from rdb.recording.messages.messages import Messages
from rdb.session.ranks import Rank, format_ranks


@dataclass(frozen=True)
class CausalOrder:
    """Length of the longest chain of causes among the other findings before each rank; 0: none."""

    depths: Mapping[Rank, int]
    unknown: str | None = None
    """Why the order is not known; `depths` is empty then."""

    @property
    def first(self) -> tuple[Rank, ...]:
        """Ranks before whose finding no other finding happened."""
        return tuple(sorted(rank for rank, depth in self.depths.items() if depth == 0))

    def __str__(self) -> str:
        if self.unknown is not None:
            return f"the causal order is not known: {self.unknown}"
        if len(self.first) > 1:
            return (
                f"first in causal order: ranks {format_ranks(self.first)}, independently of each "
                "other"
            )
        return f"first in causal order: rank {self.first[0]}" if self.first else ""


def causal_order(messages: Messages, events: Mapping[Rank, int]) -> CausalOrder:
    """EVENTS: rank -> the event after whose answer something was found."""
    try:
        return CausalOrder(Clocks(messages).depths(events))
    except RdbError as error:
        return CausalOrder({}, error.message)
