"""Answers of several ranks about one statement: the first one whole, a line for each other."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from rdb.session.ranks import Rank, format_ranks

_MOST = 8  # lines; more ranks share one
_FRAME = re.compile(r"#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(.*?(?:\) at (\S+))?$")

T = TypeVar("T")


def statement(stack: Iterable[str], written_by: str | None) -> Hashable:
    """Equal for equal statements, reached by the same calls, whatever the arguments.

    STACK: lines of GDB's backtrace.  WRITTEN_BY: what the debugger says of the statement, None if
    an event did it: ranks get one message each by one call.
    """
    return written_by, tuple(_FRAME.sub(r"\1 \2", line) for line in stack)


def by_statement(answers: Iterable[tuple[Hashable, T]]) -> list[list[T]]:
    """Groups by statement, in the order of the first member of each."""
    groups: dict[Hashable, list[T]] = {}
    for key, answer in answers:
        groups.setdefault(key, []).append(answer)
    return list(groups.values())


def show_likewise(others: Sequence[tuple[Rank, str, str]], out: Console) -> None:
    """OTHERS: for each rank its name and a line."""
    for line in _lines(others):
        out.print(Text(f"likewise in {line}"))


def _lines(others: Sequence[tuple[Rank, str, str]]) -> Iterator[str]:
    shown = others if len(others) <= _MOST else others[: _MOST - 1]
    for _, name, line in shown:
        yield f"rank {name}, {line}"
    rest = [rank for rank, _, _ in others[len(shown) :]]
    if rest:
        yield f"{len(rest)} more ranks: {format_ranks(sorted(rest))}"
