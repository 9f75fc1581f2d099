"""Printing: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(data: Any) -> None:
    json.dump(data, sys.stdout, indent=2)
    print()


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()
) -> None:
    """A table on a terminal; through a pipe plain columns that are never cut.

    A terminal that is too narrow cuts the last column, such as a program's path, and no number.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False)
    numbers, lines = set(right), [tuple(row) for row in rows]
    for place, title in enumerate(header):
        widest = max(len(text) for text in (title, *(line[place] for line in lines)))
        table.add_column(
            title,
            justify="right" if place in numbers else "left",
            no_wrap=True,
            min_width=widest if place + 1 < len(header) else None,
        )
    for row in lines:
        table.add_row(*(text.replace("[", r"\[") for text in row))
    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    console = Console(highlight=False, width=1000)
    with console.capture() as text:
        console.print(table)
    for line in text.get().splitlines():
        print(line.rstrip())
