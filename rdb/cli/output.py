"""Printing: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_PIPE = 1000  # width without a terminal


def print_json(data: Any) -> None:
    json.dump(data, sys.stdout, indent=2)
    print()


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()
) -> None:
    """Prints a table.  On a narrow terminal a row takes several lines; nothing is cut."""
    from rich.console import Console
    from rich.text import Text

    from rdb.console.tables import plain_table, show_table

    table = plain_table(*header)
    for place in right:
        table.columns[place].justify = "right"
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    console = Console(highlight=False)
    show_table(table, console if console.is_terminal else Console(highlight=False, width=_PIPE))
