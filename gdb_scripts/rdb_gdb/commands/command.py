"""The base class of the commands, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import gdb

from ..loading import at_load


class Command(gdb.Command):
    """A command with the name given to @command; the docstring of the subclass is its help."""

    name = ""
    kind = gdb.COMMAND_RUNNING

    def __init__(self) -> None:
        super().__init__(self.name, self.kind)


#: All commands by name.  rdb/commands/gdb_table.py reads the same decorators in the sources.
COMMANDS: dict[str, type[Command]] = {}

_Class = TypeVar("_Class", bound=type[Command])
_Step = TypeVar("_Step", bound=Callable[[], object])
_when_opened: list[Callable[[], object]] = []


def command(
    name: str, kind: int = gdb.COMMAND_RUNNING, *, takes_over: bool = False
) -> Callable[[_Class], _Class]:
    """Decorator: makes the class a GDB command.

    Names of commands that are not for the console begin with `rdb-`.  TAKES_OVER: the name is one
    of GDB's own commands, which is replaced when the first recording is opened.
    """

    def register(made: _Class) -> _Class:
        if name in COMMANDS:
            raise ValueError(f"{name} is there already")
        made.name, made.kind = name, kind
        COMMANDS[name] = made
        return when_opened(made) if takes_over else at_load(made)

    return register


def when_opened(step: _Step) -> _Step:
    """Decorator: the function is called when this GDB opens its first recording."""
    _when_opened.append(step)
    return step


def take_over() -> None:
    """Calls the functions of @when_opened, once."""
    while _when_opened:
        _when_opened.pop(0)()


def count_argument(argument: str) -> int:
    """The optional count of `undo` and similar commands, an expression; 1 if there is none."""
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
