"""Common parts of searches: options, progress, tables."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

import gdb

from .. import link
from ..link.progress import ProgressLine
from ..state import bookmarks, place
from ..values import quoting
from ..values.blocks import function_of

INTERRUPTED = "Interrupted: this is what was found by then."


class Options:
    """Options of a command, before or after its expression (`--` within it is an operator of C).

    FLAGS and VALUES: names of options without and with a value.  Raises gdb.GdbError.
    """

    def __init__(self, argument: str, usage: str, flags: str = "", values: str = "") -> None:
        self._flags, self._values = flags.split(), values.split()
        self.usage = f"Usage: {usage}"
        self.given: dict[str, str] = {}
        words = argument.split()
        while words and words[0].startswith("--") and len(words[0]) > 2:
            taken = self._take(words)
            if not taken:
                raise gdb.GdbError(f"No option {words[0]}.  {self.usage}")
        while self._trailing(words):
            pass
        # The text as it was typed, with its blanks.
        self.text = quoting.unquoted(_between(argument, words))

    def _take(self, words: list[str]) -> bool:
        if words[0] in self._flags:
            self.given[words.pop(0)] = ""
            return True
        if words[0] not in self._values:
            return False
        if len(words) < 2:
            raise gdb.GdbError(f"{words[0]} needs a value.  {self.usage}")
        self.given[words[0]] = words[1]
        del words[:2]
        return True

    def _trailing(self, words: list[str]) -> bool:
        if words and words[-1] in self._flags:
            self.given[words.pop()] = ""
            return True
        if len(words) > 1 and words[-2] in self._values:
            self.given[words[-2]] = words[-1]
            del words[-2:]
            return True
        return False

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def count(self, name: str, default: int) -> int:
        text = self.given.get(name, str(default))
        if not text.isdigit() or int(text) == 0:
            raise gdb.GdbError(f"{name} needs a count, not {text}.")
        return int(text)

    @property
    def jobs(self) -> int | None:
        """--jobs N; None: as many as there are processors."""
        return self.count("--jobs", 1) if "--jobs" in self else None

    def position(self, name: str) -> str | None:
        """A position, START, END or a bookmark as a position; None: no bound."""
        text = self.given.get(name)
        if text is None or text.upper() == ("START" if name == "--from" else "END"):
            return None
        text = bookmarks.find(text).position if text in bookmarks.known else text
        if not text[0].isdigit():
            raise gdb.GdbError(f"{name}: {text} is not a position.  {self.usage}")
        return text

    def event(self, name: str) -> int | None:
        """The event of a position."""
        text = self.position(name)
        return None if text is None else place.event_of(text)

    def need_text(self) -> str:
        if not self.text:
            raise gdb.GdbError(self.usage)
        return self.text


def _between(argument: str, words: list[str]) -> str:
    """The part of the argument that consists of these words."""
    if not words:
        return ""
    text = argument.strip()
    while text.split()[: len(words)] != words:
        text = text.split(None, 1)[1]
    while text.split() != words:
        text = text.rsplit(None, 1)[0]
    return text


class Progress:
    """Shows the progress of a search, and how much it has found."""

    def __init__(self, what: str) -> None:
        self._line = ProgressLine(what)

    def __call__(self, answer: dict[str, Any]) -> None:
        part = answer.get("progress")
        if part is not None:
            found = answer.get("found")
            self.say(part, "" if not found else f", {found} found")

    def say(self, part: float, more: str = "") -> None:
        self._line.say(f"{100 * part:.0f}%{more}")

    def end(self) -> None:
        self._line.end()


class Patience:
    """How long a search goes on: so many seconds of a machine of its own.

    Where others want the processors, too, it lasts longer, so as not to find less.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        crowd = os.getloadavg()[0] / len(os.sched_getaffinity(0))
        self._until = time.monotonic() + seconds * max(1.0, crowd)

    @property
    def ended(self) -> bool:
        return time.monotonic() > self._until


def ask(what: str, **options: Any) -> dict[str, Any]:
    """A search of the server, with a progress line.  Interrupted: the answer says so."""
    return patiently(Patience(), what, options)


def patiently(patience: Patience, what: str, options: dict[str, Any]) -> dict[str, Any]:
    """As `ask`; interrupted at the end of PATIENCE, too."""
    progress = Progress(what)

    def hear(answer: dict[str, Any]) -> bool:
        progress(answer)
        return patience.ended

    try:
        return link.ask(what, json.dumps(options).encode("utf-8").hex(), hear)
    finally:
        progress.end()


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lines with aligned columns."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join(texts) + "\n"


def line_at(pc: int) -> str:
    """`heat.c:31`, else the function's name, else the address."""
    sal = gdb.find_pc_line(pc)
    if sal.symtab:
        return f"{sal.symtab.filename.rsplit('/', 1)[-1]}:{sal.line}"
    function = function_of(gdb.block_for_pc(pc))
    if function is not None:
        return str(function)
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    return text.split()[0] if " in section " in text else hex(pc)
