"""rdb-source: where a stored value came from, for `origin`."""

from __future__ import annotations

import json

import gdb

from .. import link
from ..search import flow
from ..state import history
from .command import Command, command


@command("rdb-source", gdb.COMMAND_DATA)
class Source(Command):
    """Go to where the value that is stored here came from: rdb-source ADDRESS LENGTH
    For programs that drive GDB: one line of JSON with the function that returned the value, address
    and length of the memory that it was loaded from, and the event that gave it, each null if there
    is none, and the functions whose argument it was; {} if it is computed here."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        address, length = (int(one, 0) for one in argument.split())
        with history.log.command(self.name):
            found = flow.of_stored(address, length)
        said: dict[str, object] = {}
        if found is not None:
            event = None if found.event is None else flow.described(found.event)
            said = {"function": found.function, "memory": found.memory, "event": event}
            said["passed"] = found.passed
        gdb.write(json.dumps(said) + "\n")
