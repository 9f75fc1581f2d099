"""The kinds of figures: a ratio to native, response times, and how fast a log grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: a value that was measured, so the 99th of few values is the greatest."""
    ordered = sorted(values)
    return ordered[max(math.ceil(percent / 100 * len(ordered)), 1) - 1]


@dataclass(frozen=True)
class Ratio:
    """One thing done in some way, compared with doing it natively in the same round."""

    what: str
    way: str
    native_s: float  # medians
    way_s: float
    ratio: float  # median of the rounds' ratios
    ratio_low: float  # quartiles of the rounds' ratios
    ratio_high: float
    n: int
    goal: float | None = None


@dataclass(frozen=True)
class Response:
    """How long a command takes until its answer is there."""

    what: str
    through: str  # "GDB" or "Timeline"
    rank_mb: int
    median_s: float
    p99_s: float
    max_s: float
    n: int
    goal_median_s: float | None = None
    goal_p99_s: float | None = None


@dataclass(frozen=True)
class LogGrowth:
    """What one rank of a recorded run wrote to its log."""

    what: str
    events: int
    bytes_per_event: float
    bytes_per_s: float


@dataclass
class Section:
    """What one file of bench/sections measured."""

    name: str
    title: str
    ratios: list[Ratio] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    logs: list[LogGrowth] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    took_s: float = 0.0


def ratio(
    what: str,
    way: str,
    native_s: Sequence[float],
    way_s: Sequence[float],
    goal: float | None = None,
) -> Ratio:
    """Of runs made in rounds: the i-th of each belong together."""
    ratios = [mine / base for base, mine in zip(native_s, way_s, strict=True)]
    return Ratio(
        what=what,
        way=way,
        native_s=statistics.median(native_s),
        way_s=statistics.median(way_s),
        ratio=statistics.median(ratios),
        ratio_low=percentile(ratios, 25),
        ratio_high=percentile(ratios, 75),
        n=len(ratios),
        goal=goal,
    )


def response(
    what: str,
    through: str,
    rank_mb: int,
    times_s: Sequence[float],
    goal_median_s: float | None = None,
    goal_p99_s: float | None = None,
) -> Response:
    return Response(
        what=what,
        through=through,
        rank_mb=rank_mb,
        median_s=statistics.median(times_s),
        p99_s=percentile(times_s, 99),
        max_s=max(times_s),
        n=len(times_s),
        goal_median_s=goal_median_s,
        goal_p99_s=goal_p99_s,
    )
