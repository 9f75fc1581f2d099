"""What the commands have in common."""

from __future__ import annotations

from typing import Any

import gdb


class Command(gdb.Command):
    """A command named `name`; the docstring of the subclass is its help."""

    name = ""
    kind = gdb.COMMAND_RUNNING

    def __init__(self) -> None:
        super().__init__(self.name, self.kind)

    @property
    def line(self) -> str:
        return self.name


def count_argument(argument: str) -> int:
    """The optional count of `undo` and the like."""
    text = argument.strip()
    if not text:
        return 1
    try:
        value = int(gdb.parse_and_eval(text))
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if value < 1:
        raise gdb.GdbError("The count must be 1 or more.")
    return value


def typed(name: str, argument: Any) -> str:
    return f"{name} {argument}".strip()
