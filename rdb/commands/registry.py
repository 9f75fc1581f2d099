"""The table of all commands; the faces, the help and docs/commands.md are made from it.

A line that names no command of the table goes to GDB unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rdb.errors import RdbError, Usage
from rdb.session.session import Session

Handler = Callable[..., Awaitable[object]]


class Need(Enum):
    """What a command needs before it can run."""

    NOTHING = "nothing"
    STOPPED = "ranks in focus, stopped"


class Group(Enum):
    """Chapters of the help, in its order."""

    RANKS = "ranks"
    TIME = "time"
    LIVE = "a job that runs"
    SEARCH = "search"
    LOOK = "look"
    SESSION = "session"


@dataclass(frozen=True)
class Command:
    """One row of the table."""

    name: str
    group: Group
    usage: str
    summary: str
    help: str
    handler: Handler
    aliases: tuple[str, ...] = ()
    needs: Need = Need.NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    async def call(self, session: Session, arguments: str) -> object:
        """Checks NEEDS, parses ARGUMENTS and runs the command; returns its data
        (rdb/commands/values.py).

        RdbError: no rank is in focus. Usage: wrong arguments.
        """
        if self.needs is Need.STOPPED and not session.focus:
            raise RdbError("no rank is in focus", "choose ranks: focus RANKS")
        return await self.handler(session, **self._bind(arguments))

    def _bind(self, text: str) -> dict[str, Any]:
        """TEXT as the handler's parameters: an int takes one word, a string the rest of
        the line.
        """
        parameters = list(inspect.signature(self.handler, eval_str=True).parameters.values())[1:]
        rest = text.strip()
        values: dict[str, Any] = {}
        for parameter in parameters:
            if not rest:
                if parameter.default is inspect.Parameter.empty:
                    raise Usage(f"{self.name} needs more arguments", f"usage: {self.usage}")
                continue
            if parameter.annotation is str:
                values[parameter.name], rest = rest, ""
                continue
            word, _, rest = rest.partition(" ")
            rest = rest.strip()
            if not word.isdigit() or int(word) == 0:
                what = "a number of seconds" if parameter.name == "seconds" else "a count"
                raise Usage(f"{word!r} is not {what}", f"usage: {self.usage}")
            values[parameter.name] = int(word)
        if rest:
            raise Usage(f"{self.name} does not take {rest!r}", f"usage: {self.usage}")
        return values


class Registry:
    """Commands by name and alias; names of two words are tried before names of one."""

    def __init__(self) -> None:
        self._by_name: dict[str, Command] = {}
        self.commands: list[Command] = []

    def add(self, command: Command) -> None:
        for name in command.names:
            if name in self._by_name:
                raise ValueError(f"there is a command {name} already")
            self._by_name[name] = command
        self.commands.append(command)

    def get(self, name: str) -> Command | None:
        return self._by_name.get(" ".join(name.split()))

    def find(self, line: str) -> tuple[Command, str] | None:
        """The command that LINE calls, with its arguments; None: LINE is for GDB."""
        words = line.split(maxsplit=2)
        for count in (2, 1):
            if len(words) >= count:
                command = self._by_name.get(" ".join(words[:count]))
                if command is not None:
                    rest = line.split(maxsplit=count)
                    return command, rest[count] if len(rest) > count else ""
        # GDB allows a format without a space: print/x n.
        head, slash, format_and_rest = line.strip().partition("/")
        command = self._by_name.get(head) if slash else None
        return (command, f"/{format_and_rest}") if command is not None else None

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def groups(self) -> dict[Group, list[Command]]:
        return {
            group: [command for command in self.commands if command.group is group]
            for group in Group
        }


REGISTRY = Registry()


def command(
    name: str,
    *,
    group: Group,
    usage: str | None = None,
    aliases: tuple[str, ...] = (),
    needs: Need = Need.NOTHING,
) -> Callable[[Handler], Handler]:
    """Enters a handler into the table.

    The handler's docstring is the command's help; its first line is the summary.
    """

    def register(handler: Handler) -> Handler:
        text = inspect.getdoc(handler)
        if not text:
            raise ValueError(f"{name} has no help")
        summary, _, rest = text.partition("\n")
        REGISTRY.add(
            Command(name, group, usage or name, summary, rest.strip(), handler, aliases, needs)
        )
        return handler

    return register
