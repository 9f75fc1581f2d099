"""Decides when ranks on several hosts may write their images, from the slots that they report.

Slots of other hosts are old when they arrive. So the centre asks again after a look that found all
at rest. If no rank has moved between the two looks, all ranks were held at the moment between them,
with the counts that they reported. Such a state does not end by itself: no rank has a message left
to go on with.
"""

from __future__ import annotations

from collections.abc import Sequence

from rdb.coordinate.board import Slot, State


def objection(slots: Sequence[Slot], generation: int, why: str) -> str | None:
    """Why checkpoint GENERATION cannot be taken; None: nothing is known against it.

    WHY: the reason that a rank gave.
    """
    if any(slot.objects >= generation for slot in slots):
        return why or "a rank refuses the checkpoint"
    for rank, slot in enumerate(slots):
        if not slot.there:
            return f"rank {rank} has ended, or has not started yet"
    return None


PAIR = 1 << 63
"""Bit of a clock's name: the clock concerns two ranks, board_pair() in
restart/checkpoint/board.h."""


def ranks_of(pair: int) -> tuple[int, int]:
    return pair >> 16 & 0xFFFF, pair & 0xFFFF


def at_rest(slots: Sequence[Slot]) -> bool:
    """One look, as board_stable() of interposer/restart/checkpoint/board.c takes it."""
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
