"""rdb-look: turns a GDB that changes nothing to another rank (rdb/session/lookers.py)."""

from __future__ import annotations

import json

import gdb

from .. import link
from ..state import history, own, place
from . import state
from .command import Command, command


@command("rdb-look", gdb.COMMAND_STATUS)
class Look(Command):
    """Stand in another rank of the same program: rdb-look RANK START|END|POSITION [fresh]
    For programs that drive GDB: it prints what `rdb-state` does.  There is no history.
    With `fresh` GDB first reads what was recorded since."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = argument.split()
        if not 2 <= len(words) <= 3:
            raise gdb.GdbError("Usage: rdb-look RANK START|END|POSITION [fresh]")
        rank, where = words[:2]
        history.log.current = None
        answer = link.ask("rank", ",".join([rank, *words[2:]]))
        place.forget(answer)
        there = {"START": answer["at_start"], "END": answer["at_end"]}
        if not there.get(where, answer["position"] == where):
            answer = place.seek(where)
        own.select(answer)
        gdb.write(json.dumps(state.described(answer)) + "\n")
