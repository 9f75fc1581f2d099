"""goto: goes to any position of the recording."""

from __future__ import annotations

import re

import gdb

from ..state import bookmarks, history, place
from ..values.quoting import unquoted
from .command import Command, command, typed


@command("goto")
class Goto(Command):
    """Go to a place in the recording: goto EVENT|START|END|POSITION|BOOKMARK
    EVENT is a number, also `event N`; POSITION is EVENT:PC:N as `when` prints it."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        target = re.sub(r"event\s+(?=\d)", "", unquoted(argument))
        if not target:
            raise gdb.GdbError("Usage: goto EVENT|START|END|POSITION|BOOKMARK")
        if target in bookmarks.known:
            target = bookmarks.find(target).position
        elif target.upper() in ("START", "END"):
            target = target.upper()
        elif not target[0].isdigit():
            bookmarks.find(target)
        go(target, typed(self.name, argument))


def go(target: str, text: str) -> None:
    """Goes to START, END or a position; TEXT: the command for the history."""
    with history.log.command(text):
        answer = place.seek(target)
        if answer["reason"] == "end" and answer["text"]:
            gdb.write(f"End of the recording: {answer['text']}\n")
        elif answer["text"]:
            gdb.write(f"rdb: {answer['text']}\n")
        place.show()
