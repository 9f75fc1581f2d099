"""The numbers of several ranks in one place: `4`, `4..18`."""

from __future__ import annotations

from collections.abc import Collection


def span(numbers: Collection[int]) -> str:
    """The least and the greatest of NUMBERS."""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}..{high:,}"


def events(numbers: Collection[int]) -> str:
    """`event 4`, `events 4..18`."""
    return f"event{'s' * (len(set(numbers)) > 1)} {span(numbers)}"


def ranks_are(label: str) -> str:
    """`rank 4`, `ranks 4-18`."""
    return f"rank {label}" if label.isdigit() else f"ranks {label}"
