"""Numbers over ranks as columns of blocks, _LINES lines high."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rdb.session.ranks import Rank

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LINES = 6


def columns(numbers: Mapping[Rank, float], width: int) -> list[tuple[list[Rank], float]]:
    """The ranks of each column, and the number it shows, the highest of them."""
    ranks = sorted(numbers)
    per = max(1, math.ceil(len(ranks) / max(width, 1)))
    groups = [ranks[at : at + per] for at in range(0, len(ranks), per)]
    return [(group, _highest([numbers[rank] for rank in group])) for group in groups]


def _highest(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return max(known) if known else math.nan


def draw(numbers: Mapping[Rank, float], width: int) -> list[str]:
    """The lines of the plot: a scale on the left, ranks below; NaN and infinities are marked."""
    finite = [value for value in numbers.values() if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    base = min(low, 0.0) if high > 0 and low >= 0 and low < high / 2 else low
    scale = _scale(high, base)
    margin = max(map(len, scale))
    shown = columns(numbers, width - margin - 3)
    wide = max(1, min(8, (width - margin - 3) // len(shown)))
    picture = []
    for line in range(_LINES):
        label = scale[0] if line == 0 else scale[1] if line == _LINES - 1 else ""
        cells = "".join(_cell(value, base, high, _LINES - 1 - line) * wide
                        for _, value in shown)  # fmt: skip
        picture.append(f"{label:>{margin}} ┤{cells}".rstrip())
    picture.append(f"{'':>{margin}} └{'─' * (wide * len(shown))}")
    picture.append(_axis([group[0] for group, _ in shown], wide, margin))
    return picture


def _scale(high: float, low: float) -> tuple[str, str]:
    """Labels of the highest and the lowest line, with enough digits to differ; one if equal."""
    if high == low:
        return f"{high:.6g}", ""
    for digits in (6, 9, 12):
        if f"{high:.{digits}g}" != f"{low:.{digits}g}":
            return f"{high:.{digits}g}", f"{low:.{digits}g}"
    return f"{high:.17g}", f"{low:.17g}"


def _cell(value: float, low: float, high: float, line: int) -> str:
    """The character of a column in LINE; line 0 is the lowest."""
    if math.isnan(value):
        return "?" if line == 0 else " "
    if math.isinf(value):
        return "∞" if (value > 0) == (line == _LINES - 1) and line in (0, _LINES - 1) else " "
    if math.isinf(high - low):  # beyond the largest number
        value, low, high = value / 2, low / 2, high / 2
    share = 1.0 if high == low else (value - low) / (high - low)
    # A value has at least one eighth, so that every rank is visible.
    eighths = max(1, round(share * _LINES * 8)) - line * 8
    return _EIGHTHS[max(0, min(8, eighths))]


def _axis(firsts: Sequence[Rank], wide: int, margin: int) -> str:
    """The numbers of ranks below their columns, as far as there is room."""
    text = " " * (margin + 2)
    for index, rank in enumerate(firsts):
        at = margin + 2 + index * wide
        end = margin + 2 + len(firsts) * wide
        if at == margin + 2 or (at >= len(text) + 2 and at + len(str(rank)) <= end):
            text = text.ljust(at) + str(rank)
    return text
