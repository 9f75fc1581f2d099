"""The causal order of findings in several ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

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
    together: str | None = None
    """The collective that brought it to all that are first, if it is one."""

    @property
    def first(self) -> tuple[Rank, ...]:
        """Ranks before whose finding no other finding happened."""
        return tuple(sorted(rank for rank, depth in self.depths.items() if depth == 0))

    def __str__(self) -> str:
        if self.unknown is not None:
            return f"the causal order is not known: {self.unknown}"
        if len(self.first) > 1:
            relation = relation_of(self.together)
            return f"first in causal order: ranks {format_ranks(self.first)}, {relation}"
        return f"first in causal order: rank {self.first[0]}" if self.first else ""


def relation_of(together: str | None) -> str:
    """How several ranks that are first belong to each other."""
    return f"together in {together}" if together else "independently of each other"


def causal_order(
    messages: Messages, events: Mapping[Rank, int], brought: Collection[Rank]
) -> CausalOrder:
    """EVENTS: rank -> the event after whose answer something was found.

    BROUGHT: the ranks in which the event itself brought it.
    """
    try:
        clocks = Clocks(messages)
        order = CausalOrder(clocks.depths(events))
        if set(order.first).issubset(brought):
            calls = {clocks.collective(rank, events[rank]) for rank in order.first}
            if len(calls) == 1 and (call := calls.pop()) is not None:
                return replace(order, together=call[2])
        return order
    except RdbError as error:
        return CausalOrder({}, error.message)
