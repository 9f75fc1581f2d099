"""last: to the last write of a value."""

from __future__ import annotations

from typing import Any

import gdb

from . import history, link, place
from .command import Command, typed
from .quoting import unquoted
from .watched import in_memory


class Last(Command):
    """Go back to where a value was last changed: last EXPRESSION
    Stops just before the instruction or the event that changed it, and prints the value it had
    (Was) and got (Now).  Without EXPRESSION, looks further back for the same object."""

    name = "last"
    kind = gdb.COMMAND_DATA

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._type: Any = None
        self._address = 0

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        link.connection()
        if text:
            self._find(text)
        elif self._type is None:
            raise gdb.GdbError("Of what?  last EXPRESSION")
        with history.log.command(typed("last", text or self._text)):
            self._go()

    def _find(self, text: str) -> None:
        value, said = in_memory(text)
        if said:
            gdb.write(f"({said})\n")
        self._text, self._type, self._address = text, value.type, int(value.address)

    def _value(self) -> str:
        pointer = gdb.Value(self._address).cast(self._type.pointer())
        try:
            return str(pointer.dereference().format_string())
        except gdb.error as error:
            return f"<{error}>"

    def _go(self) -> None:
        now = self._value()
        with link.calm():
            answer = link.ask("last-change", f"{self._address:#x},{self._type.sizeof}")
            if answer["found"]:
                place.forget(answer)
                place.rearm()
        if not answer["found"]:
            gdb.write(f"{self._text} has not changed since the start of the recording.\n")
            return
        gdb.write(f"Was = {self._value()}\nNow = {now}\n")
        if "by" in answer:
            gdb.write(f"Changed by event {answer['by']}: {answer['describe']}\n")
        place.show()


def define() -> None:
    Last()
