"""Positions: writing, parsing, joining moves, what is on the way to what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdb.errors import Usage
from rdb.timeline.position import Arrive, Hit, Move, Position, Steps, ToEnd, WatchHit

PCS = st.integers(1, 2**47)
COUNTS = st.integers(1, 10**9)
MOVES: st.SearchStrategy[Move] = st.one_of(
    st.builds(Hit, PCS, COUNTS),
    st.builds(Steps, COUNTS),
    st.builds(WatchHit, PCS, st.integers(1, 4096), st.integers(0, 2), COUNTS),
)


@st.composite
def positions(draw: st.DrawFn) -> Position:
    position = Position(draw(st.integers(0, 10**7)))
    if draw(st.booleans()):
        position = Position.at(position.event, draw(PCS), draw(COUNTS))
    for move in draw(st.lists(MOVES, max_size=5)):
        position = position.then(move)
    return position.then(ToEnd()) if draw(st.booleans()) else position


@given(positions())
def test_written_and_parsed_back(position: Position) -> None:
    assert Position.parse(str(position)) == position


def test_names_a_user_sees() -> None:
    assert str(Position(57)) == "57"
    assert str(Position.at(57, 0x401136, 3)) == "57:0x401136:3"
    assert Position.parse("57:401136:3") == Position.at(57, 0x401136, 3)
    assert Position.parse(" 57:0x401136:3 ").canonical


@pytest.mark.parametrize("text", ["", "x", "-1", "3:", "3:0x10", "3:0x10:0", "3+s1:0x10:1", "3 4"])
def test_what_is_not_a_position_is_refused(text: str) -> None:
    with pytest.raises(Usage):
        Position.parse(text)


def test_moves_of_one_kind_are_joined() -> None:
    here = Position(1).then(Steps(2)).then(Steps(3))
    assert here.moves == (Steps(5),)
    assert here.then(Hit(9, 1)).then(Hit(9, 1)).moves == (Steps(5), Hit(9, 2))
    assert here.then(Hit(9, 1)).then(Hit(8, 1)).moves == (Steps(5), Hit(9, 1), Hit(8, 1))
    assert Position.at(1, 9, 4).then(Hit(9, 2)) == Position.at(1, 9, 6)


@given(positions(), st.lists(MOVES, max_size=4))
def test_what_was_added_is_what_is_left(start: Position, moves: list[Move]) -> None:
    if start.moves and isinstance(start.moves[-1], ToEnd):
        start = start.before_last_move()
    here = start
    for move in moves:
        here = here.then(move)
    rest = here.after(start)
    assert rest is not None
    again = start
    for move in rest:
        again = again.then(move)
    assert again == here


def test_what_is_not_on_the_way() -> None:
    here = Position(3).then(Hit(9, 4)).then(Steps(2))
    assert here.after(here) == ()
    assert here.after(Position(2)) is None
    assert here.after(Position(3).then(Hit(9, 3))) == (Hit(9, 1), Steps(2))
    assert here.after(Position(3).then(Hit(9, 5))) is None
    assert here.after(Position(3).then(Hit(8, 1))) is None
    assert here.after(Position(3).then(Hit(9, 4)).then(Steps(3))) is None
    assert Position.at(3, 9, 7).after(Position.at(3, 9, 5)) == (Hit(9, 2),)
    assert Position.at(3, 9, 7).moves == (Arrive(9, 7),)
