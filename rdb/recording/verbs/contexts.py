"""Which context (ibv_open_device(3)) each verbs object was made of: ibv_close_device ends these."""

from __future__ import annotations

from collections.abc import Mapping

from rdb.recording.log.record import Record
from rdb.recording.log.verbs_calls import Call

MAKE = frozenset(
    {
        *(Call.ALLOC_PD, Call.REG_MR, Call.ALLOC_MW, Call.CREATE_CHANNEL, Call.CREATE_CQ),
        *(Call.CREATE_SRQ, Call.CREATE_QP, Call.CREATE_AH),
    }
)
"""Calls whose first argument is the context, or an object of it."""


class Contexts:
    """Object -> context.  Numbers of objects are never used again."""

    def __init__(self, begun: Mapping[str, int] | None = None) -> None:
        """BEGUN: what a branch began with, by `as_json`."""
        self._of = {int(thing): context for thing, context in (begun or {}).items()}

    def made(self, record: Record) -> None:
        """Enters the object that a call of MAKE returned."""
        self._of[record.result] = self._of.get(record.args[0], record.args[0])

    def holds(self, context: int, thing: int) -> bool:
        """Whether THING is of CONTEXT; also if that is not known."""
        return self._of.get(thing, context) == context

    def close(self, context: int) -> None:
        self._of = {thing: of for thing, of in self._of.items() if of != context}

    def all(self) -> set[int]:
        return set(self._of.values())

    def as_json(self) -> dict[str, int]:
        return {str(thing): context for thing, context in self._of.items()}
