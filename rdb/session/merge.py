"""Groups equal answers of several ranks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rdb.session.ranks import Rank, format_ranks

T = TypeVar("T")


@dataclass(frozen=True)
class Group(Generic[T]):
    """Ranks with equal answers, and the answer of the lowest rank."""

    ranks: tuple[Rank, ...]
    value: T

    @property
    def label(self) -> str:
        return format_ranks(self.ranks)


def merge(
    answers: Mapping[Rank, T], key: Callable[[T], Hashable] = lambda value: str(value)
) -> list[Group[T]]:
    """Groups of equal answers, equal by KEY; ordered by their lowest rank."""
    by_key: dict[Hashable, list[Rank]] = {}
    for rank in sorted(answers):
        by_key.setdefault(key(answers[rank]), []).append(rank)
    return [Group(tuple(ranks), answers[ranks[0]]) for ranks in by_key.values()]
