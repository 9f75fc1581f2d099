"""last: goes to the last change of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gdb

from .. import link
from ..search import searching, stores
from ..search.watched import in_memory, length
from ..state import history, place
from .command import Command, command, typed


@command("last", gdb.COMMAND_DATA)
class Last(Command):
    """Go back to where a value was last changed: last EXPRESSION [--stores]
    Stops just before the instruction or the event that changed it, and prints the value it had
    (Was) and got (Now).  Without EXPRESSION, looks further back for the same object.
    With --stores an instruction counts, too, that stores the value that is there already."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._type: Any = None
        self._address = 0

    def invoke(self, argument: str, from_tty: bool) -> None:
        options = searching.Options(argument, "last EXPRESSION [--stores]", "--stores")
        text = options.text
        link.connection()
        if text:
            self._find(text)
        elif self._type is None:
            raise gdb.GdbError("Usage: last EXPRESSION")
        with history.log.command(typed("last", text or self._text)):
            self._go(stores.last if "--stores" in options else stores.last_change)

    def _find(self, text: str) -> None:
        value, self._address, said = in_memory(text)
        if said:
            gdb.write(f"({said})\n")
        self._text, self._type = text, value.type

    def _value(self) -> str:
        pointer = gdb.Value(self._address).cast(self._type.pointer())
        try:
            return str(pointer.dereference().format_string())
        except gdb.error as error:
            return f"<{error}>"

    def _go(self, find: Callable[[int, int], dict[str, Any]]) -> None:
        now = self._value()
        with link.calm():
            answer = find(self._address, length(self._type))
            if answer["found"]:
                place.rearm()
        if not answer["found"]:
            gdb.write(f"{self._text} has not changed since the start of the recording.\n")
            return
        gdb.write(f"Was = {self._value()}\nNow = {now}\n")
        if answer.get("unsure"):
            gdb.write("An equal value may have been stored later.\n")
        if "by" in answer:
            gdb.write(f"Changed by event {answer['by']}: {answer['describe']}\n")
        place.show()
