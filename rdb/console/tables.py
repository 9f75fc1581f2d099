"""Tables, for the console and for commands that have no session."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdb.console.narrow import shown_narrow


def plain_table(*columns: str) -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, 2, 0, 0),
        show_header=bool(columns),
    )
    for column in columns:
        table.add_column(column, no_wrap=True)
    if columns:
        table.columns[-1].no_wrap = False  # only the last column wraps on a narrow terminal
    return table


def show_table(table: Table, out: Console) -> None:
    """Prints TABLE, without the blanks that rich puts at the ends of lines if OUT is no
    terminal.
    """
    narrow = shown_narrow(table, out)
    if narrow is not None:
        for one in narrow:
            out.print(one)
        return
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(Text(line.rstrip()))
