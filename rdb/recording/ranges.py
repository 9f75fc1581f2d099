"""Sets of numbers as text: `0-2,5`."""

from __future__ import annotations

from collections.abc import Iterable


def format_processes(names: Iterable[str]) -> str:
    """`0,0.1-0.3` for 0, 0.1, 0.2 and 0.3."""
    children: dict[str, list[int]] = {}
    for name in names:
        parent, dot, number = name.rpartition(".")
        children.setdefault(parent + dot, []).append(int(number))
    return ",".join(
        "-".join(parent + number for number in part.split("-"))
        for parent, numbers in children.items()
        for part in format_ranks(numbers).split(",")
    )


def format_ranks(ranks: Iterable[int]) -> str:
    """`0-2,5` for 0, 1, 2 and 5."""
    ordered = sorted(set(ranks))
    parts: list[str] = []
    start = 0
    for index, rank in enumerate(ordered):
        if index + 1 < len(ordered) and ordered[index + 1] == rank + 1:
            continue
        first = ordered[start]
        parts.append(str(rank) if first == rank else f"{first}-{rank}")
        start = index + 1
    return ",".join(parts)
