"""Values across ranks: statistics, and comparison member by member."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.session.looking import Fields, Number
from rdb.session.merge import merge
from rdb.session.ranks import Rank


class Stats(NamedTuple):
    """Statistics of a number over ranks; NaN is left out."""

    ranks: tuple[Rank, ...]
    least: float
    least_ranks: tuple[Rank, ...]
    most: float
    most_ranks: tuple[Rank, ...]
    mean: float
    deviation: float
    """Standard deviation of the population: the sum is divided by the number of ranks."""
    total: float


def stats(numbers: Mapping[Rank, float]) -> Stats:
    known = {rank: value for rank, value in sorted(numbers.items()) if not math.isnan(value)}
    if not known:
        raise RdbError("in no rank is the value a number")
    values = list(known.values())
    least, most = min(values), max(values)
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / len(values)
    return Stats(
        ranks=tuple(known),
        least=least,
        least_ranks=tuple(rank for rank, value in known.items() if value == least),
        most=most,
        most_ranks=tuple(rank for rank, value in known.items() if value == most),
        mean=mean,
        deviation=math.sqrt(spread) if math.isfinite(spread) else spread,
        total=math.fsum(values),
    )


def whose(answers: Mapping[Rank, Number | Fields]) -> dict[Rank, str]:
    """What to say of the variables in each rank: all if they differ, else those that are not
    plainly of the selected frame."""
    several = len({one.bound for one in answers.values()}) > 1
    return {rank: one.bound if several else one.variables for rank, one in answers.items()}


def not_the_same(bound: Mapping[Rank, str]) -> str:
    """Which variables an expression means in which ranks, as text; empty: the same in all.

    BOUND: the variables in each rank, empty if they are not known.
    """
    groups = merge({rank: said for rank, said in bound.items() if said})
    if len(groups) < 2:
        return ""
    each = "; ".join(f"{group.label}: {group.value}" for group in groups)
    return f"not the same variable in all ranks ({each})"


def differences(
    one: Mapping[str, str], other: Mapping[str, str]
) -> Sequence[tuple[str, str | None, str | None]]:
    """(name, value in ONE, value in OTHER) of members that differ; None: the member is missing."""
    names = list(dict.fromkeys([*one, *other]))
    return [
        (name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    ]
