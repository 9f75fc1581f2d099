"""goto: to any position of the recording."""

from __future__ import annotations

import gdb

from . import history, place
from .bookmark import bookmarks
from .command import Command, typed


class Goto(Command):
    """Go to a place in the recording: goto EVENT|START|END|POSITION|BOOKMARK
    EVENT is a number, POSITION is EVENT:PC:N as `when` prints it."""

    name = "goto"

    def invoke(self, argument: str, from_tty: bool) -> None:
        target = argument.strip()
        if not target:
            raise gdb.GdbError("Usage: goto EVENT|START|END|POSITION|BOOKMARK")
        if target in bookmarks:
            target = bookmarks[target]
        elif target.upper() in ("START", "END"):
            target = target.upper()
        elif not target[0].isdigit():
            raise gdb.GdbError(f'No bookmark named "{target}".')
        with history.log.command(typed("goto", argument)):
            answer = place.seek(target)
            if answer["reason"] in ("start", "end") and answer["text"]:
                gdb.write(f"End of the recording: {answer['text']}\n")
            place.show()


def define() -> None:
    Goto()
