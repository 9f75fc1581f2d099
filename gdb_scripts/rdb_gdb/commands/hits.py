"""rdb-hits: a table of breakpoints with the hit counts of the history."""

from __future__ import annotations

import gdb

from ..state import hits, points
from .command import Command, command


@command("rdb-hits", gdb.COMMAND_STATUS)
class Hits(Command):
    """Print a table of breakpoints with the hits that the history knows:
    rdb-hits info breakpoints"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = gdb.execute(points.renumbered(argument), to_string=True)
        gdb.write(hits.in_table(text) + "\n")
