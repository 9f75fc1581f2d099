"""`render(value, out)` shows the data of commands as text; each type registers its function."""

from __future__ import annotations

from functools import singledispatch

from rich.console import Console
from rich.text import Text


@singledispatch
def render(value: object, out: Console) -> None:
    """Shows what a command returned."""
    raise TypeError(f"no way to show {type(value).__name__}")


def error_line(text: str, out: Console, label: str = "") -> None:
    out.print(Text(f"{label}: " if label else "", "bold").append(f"error: {text}", "red"))


def labelled(label: str, text: str, out: Console, whole: bool) -> None:
    """Prints TEXT of some ranks: one line behind the label, several lines below it."""
    lines = text.splitlines()
    head = Text(f"{label}:", "bold")
    if len(lines) == 1:
        out.print(head.append(f" {lines[0]}", "not bold"))
        return
    out.print(head)
    indent = "" if whole else "  "
    for line in lines:
        out.print(Text((indent + line).rstrip()))
