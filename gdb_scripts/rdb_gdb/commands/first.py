"""first: goes to the first change of a value."""

from __future__ import annotations

import gdb

from .. import link
from ..search import searching
from ..search.watched import Watched
from ..state import history, place
from .command import Command, command, typed


@command("first", gdb.COMMAND_DATA)
class First(Command):
    """Go to where a value was first changed: first EXPRESSION
    Searches from the start of the recording; for a local variable, from where its function was
    entered.  Stops just before the instruction or the event that changed it, and prints the value
    it had (Was) and got (Now)."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = searching.Options(argument, "first EXPRESSION").need_text()
        link.connection()
        watched = Watched(text)
        if watched.said:
            gdb.write(f"({watched.said})\n")
        options = {**watched.options(), "from": None, "to": None, "frame": watched.frame()}
        with history.log.command(typed("first", text)):
            with link.calm():
                answer = searching.ask("first-change", **options)
                if answer["found"]:
                    place.forget(link.ask("state"))
                    place.rearm()
            if answer["interrupted"]:
                raise gdb.GdbError("Interrupted; still where you were.")
            if not answer["found"]:
                gdb.write(f"{text} does not change in the recording.\n")
                return
            gdb.write(f"Was = {watched.shown(answer['was'])}\n")
            gdb.write(f"Now = {watched.shown(answer['now'])}\n")
            if "by" in answer:
                gdb.write(f"Changed by event {answer['by']}: {answer['describe']}\n")
            place.show()
