"""Values across ranks: numbers, figures, pictures, differences, sets of ranks."""

from __future__ import annotations

import asyncio
import math

import pytest
from rich.console import Console

from rdb.commands import across
from rdb.console.many import render
from rdb.console.plots import draw
from rdb.errors import RdbError, Usage
from rdb.recording.messages.lanes import Span
from rdb.session.across import differences, stats
from rdb.session.history import CommandLog
from rdb.session.looking import Fields
from rdb.session.ranks import parse_ranks


def test_stats() -> None:
    found = stats({0: 1.0, 1: 5.0, 2: math.nan, 3: 1.0, 4: 5.0})
    assert (found.least, found.least_ranks) == (1.0, (0, 3))
    assert (found.most, found.most_ranks) == (5.0, (1, 4))
    assert (found.mean, found.deviation, found.total) == (3.0, 2.0, 12.0)
    assert found.ranks == (0, 1, 3, 4)
    with pytest.raises(RdbError, match="no rank"):
        stats({0: math.nan})


def test_differences_name_members() -> None:
    rows = differences({".a": "1", ".b": "2"}, {".a": "1", ".b": "3", ".c": "4"})
    assert rows == [(".b", "2", "3"), (".c", None, "4")]


class Looked:
    """A session of two ranks, in which a value is as it was given."""

    ranks = range(2)

    def __init__(self, *sides: Fields | RdbError) -> None:
        self._sides = dict(enumerate(sides))

    async def look(self, _: object, ranks: list[int]) -> dict[int, Fields | RdbError]:
        return {rank: self._sides[rank] for rank in ranks}


def compared(*sides: Fields | RdbError) -> str:
    value = asyncio.run(across.diff(Looked(*sides), "e 0 1"))  # type: ignore[arg-type]
    with Console(width=100) as out, out.capture() as shown:
        render(value, out)
    return shown.get()


def test_what_has_no_value_is_not_the_same() -> None:
    gone = "value has been optimized out"
    some = Fields({".a": "1"}, {".b": gone}, "", "")
    whole = Fields({".a": "1", ".b": "2"}, {}, "", "")
    none = Fields({}, {".a": gone, ".b": gone}, "", "")
    said = f"e is the same in ranks 0 and 1\nnot compared: .b: {gone}\n"
    assert compared(some, whole) == compared(whole, some) == compared(some, some) == said
    other = Fields({".a": "3", ".b": "2"}, {}, "", "")
    assert compared(some, other).splitlines()[-1] == f"not compared: .b: {gone}"
    for sides in ((none, whole), (none, none), (none, some)):
        with pytest.raises(RdbError, match=f"rank 0: {gone}"):
            compared(*sides)
    with pytest.raises(RdbError, match=f"rank 1: {gone}"):
        compared(some, none)
    apart = (Fields({".a": "1"}, {".b": gone}, "", ""), Fields({".b": "1"}, {".a": gone}, "", ""))
    with pytest.raises(RdbError, match=gone):
        compared(*apart)


def test_a_picture_fits_its_width() -> None:
    picture = draw({rank: float(rank) for rank in range(1000)}, 80)
    assert max(map(len, picture)) <= 80
    assert picture[0].strip().startswith("999 ┤") and picture[-3].strip().startswith("0 ┤")
    assert picture[0].endswith("█") and "█" not in picture[0][: len(picture[0]) // 2]


def test_a_picture_of_one_value_and_of_none() -> None:
    flat = draw({0: 2.0, 1: 2.0}, 40)
    assert flat[0].endswith("████████████████")
    assert any("?" in line for line in draw({0: 1.0, 1: math.nan}, 40))
    assert any("∞" in line for line in draw({0: 1.0, 1: math.inf}, 40))
    # uninitialised memory
    huge, small = (draw({0: one, 1: -one}, 40)[:6] for one in (1e308, 1.0))
    assert [line.split("┤")[1] for line in huge] == [line.split("┤")[1] for line in small]


def test_columns_of_a_span() -> None:
    span = Span(100, 100, 300)
    assert [span.column(at, 10) for at in (100, 119, 120, 300)] == [0, 0, 1, 9]
    assert span.column(99, 10) is None and span.column(301, 10) is None
    part = span.part(0.5e-7, 1e-7)
    assert (part.first_ns, part.last_ns) == (150, 200)


def test_sets_have_names() -> None:
    sets = {"edge": (0, 3), "none": ()}
    assert parse_ranks("edge,1", range(4), sets) == (0, 1, 3)
    with pytest.raises(Usage, match="none has no ranks"):
        parse_ranks("none", range(4), sets)


def test_a_set_is_something_to_undo() -> None:
    log = CommandLog()
    log.add("defset a 0", {}, (0,), (0,), ({}, {"a": (0,)}))
    entry = log.back()
    assert entry is not None and entry.sets == ({}, {"a": (0,)})
