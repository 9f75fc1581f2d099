"""The verdict of ranks on several hosts, from what they say of themselves."""

from __future__ import annotations

from dataclasses import replace

from rdb.coordinate.agreement import PAIR, at_rest, objection, unmoved
from rdb.coordinate.board import Slot, State

WORLD = 12345
HELD = Slot(State.HELD, 1, "a", 0, 5, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, False, {WORLD: 7})


def test_at_rest_is_all_held_with_nothing_under_way() -> None:
    assert at_rest([HELD, HELD])
    for other in (
        replace(HELD, state=State.RUNS),
        replace(HELD, pending=1),
        replace(HELD, received=2),  # one of its messages is still to come
        replace(HELD, clocks={WORLD: 8}),  # inside a collective that the first has not begun
    ):
        assert not at_rest([HELD, other])
    # what one sent the other has received
    assert at_rest([replace(HELD, sent=4), replace(HELD, received=4)])


def test_a_communicator_of_others_is_none_of_its_business() -> None:
    assert at_rest([HELD, replace(HELD, clocks={WORLD: 7, 99: 3})])


def test_a_count_of_two_ranks_is_of_both() -> None:
    posted = PAIR | 77 << 32 | 1 << 16 | 0  # by rank 1 for rank 0
    target = replace(HELD, clocks={WORLD: 7, posted: 1})
    assert not at_rest([HELD, target])
    origin = replace(HELD, clocks={WORLD: 7, posted: 1})
    assert at_rest([origin, target]) and at_rest([origin, target, HELD])
    assert not at_rest([replace(origin, clocks={WORLD: 7, posted: 2}), target])


def test_who_has_moved_between_two_looks_was_not_held() -> None:
    assert unmoved([HELD, HELD], [HELD, HELD])
    again = replace(HELD, moves=7)  # went on, and is held again
    assert not unmoved([HELD, HELD], [HELD, again])
    assert not unmoved([HELD, HELD], [HELD, replace(HELD, state=State.RUNS)])


def test_who_refuses_or_has_ended_decides_for_all() -> None:
    assert objection([HELD, HELD], 4, "") is None
    assert objection([HELD, replace(HELD, objects=4)], 4, "it has a socket") == "it has a socket"
    assert objection([HELD, replace(HELD, objects=3)], 4, "of the one before") is None
    ended = objection([HELD, replace(HELD, state=State.GONE)], 4, "")
    assert ended == "rank 1 has ended, or has not started yet"
