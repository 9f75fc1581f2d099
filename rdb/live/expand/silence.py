"""Tells whether ranks that deliver messages to each other all wait for ever.

Each rank has a struct deliver_state (interposer/replay/deliver.h).  It is read while the ranks run,
one rank after the other.  Nobody will ever go on if all wait, and each has looked for its message
since the last one was delivered.  Three samples show that, however slow the ranks are:

1. all wait;
2. all are still in the same wait, and nothing was delivered: so from the end of sample 1 on all
   that was ever delivered can be seen;
3. as 2, and each has ended two looks since sample 2.  The first may have begun before sample 1; the
   second has not.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

STATE = struct.Struct("<QQQ")


class State(NamedTuple):
    """struct deliver_state."""

    delivered: int
    turn: int
    looks: int

    @property
    def waits(self) -> bool:
        return self.turn % 2 == 1


class Silence:
    def __init__(self) -> None:
        self._left: tuple[int, ...] = ()
        self._before: list[State] | None = None
        self._settled: list[State] | None = None

    def lasts(self, left: Sequence[int], states: Sequence[State]) -> bool:
        """Do all LEFT (places in STATES; the others have ended) wait for ever?  To be asked again
        and again."""
        same = self._before is not None and self._left == tuple(left) and self._quiet(states)
        if not same:
            self._left, self._before, self._settled = tuple(left), list(states), None
            return False
        if self._settled is None:
            self._settled = list(states)
            return False
        return all(states[slot].looks >= self._settled[slot].looks + 2 for slot in left)

    def _quiet(self, states: Sequence[State]) -> bool:
        assert self._before is not None
        return all(
            now.delivered == then.delivered for now, then in zip(states, self._before, strict=True)
        ) and all(
            states[slot].waits and states[slot].turn == self._before[slot].turn
            for slot in self._left
        )
