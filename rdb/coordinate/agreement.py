"""When ranks on several hosts may write their images: the verdict on what they say of themselves.

What is known of a rank on another host is old.  So a host that has looked at rest is asked again,
and if no rank has moved between the two looks, then all were held at the moment between them, with
the counts that they said.  Such a state does not end by itself: nobody has anything to go on with.
"""

from __future__ import annotations

from collections.abc import Sequence

from rdb.coordinate.board import Slot, State


def objection(slots: Sequence[Slot], generation: int, why: str) -> str | None:
    """Why there can be no checkpoint of that number."""
    if any(slot.objects >= generation for slot in slots):
        return why or "a rank refuses it"
    for rank, slot in enumerate(slots):
        if not slot.there:
            return f"rank {rank} has ended, or has not begun"
    return None


PAIR = 1 << 63
"""Of a clock's name: it concerns two ranks alone, board_pair() in interposer/restart/board.h."""


def ranks_of(pair: int) -> tuple[int, int]:
    return pair >> 16 & 0xFFFF, pair & 0xFFFF


def at_rest(slots: Sequence[Slot]) -> bool:
    """As board_stable() in interposer/restart/board.c, of one look."""
    if any(slot.state is not State.HELD or slot.pending for slot in slots):
        return False
    if sum(slot.sent for slot in slots) != sum(slot.received for slot in slots):
        return False
    for slot in slots:
        for pair, count in slot.clocks.items():
            if pair & PAIR and any(
                slots[rank].clocks.get(pair, 0) != count for rank in ranks_of(pair)
            ):
                return False
    furthest: dict[int, int] = {}
    for slot in slots:
        for comm, count in slot.clocks.items():
            furthest[comm] = max(count, furthest.get(comm, 0))
    return all(count == furthest[comm] for slot in slots for comm, count in slot.clocks.items())


def unmoved(before: Sequence[Slot], after: Sequence[Slot]) -> bool:
    return [slot.moves for slot in before] == [slot.moves for slot in after] and at_rest(after)
