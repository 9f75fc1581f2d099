"""rdb-state: where everything is, as one line of JSON, for programs that drive GDB."""

from __future__ import annotations

import json

import gdb

from . import branches, history, link, place, threads
from .command import Command


class State(Command):
    """Print the state of the session as one line of JSON: rdb-state [--fast] [--command TEXT]
    --fast leaves out making the position's canonical name.  --command says that a command has just
    ended and what it was: all that changed since the last time is one entry of the history."""

    name = "rdb-state"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        options, _, command = argument.partition("--command ")
        log = history.log
        if log.current is None or not link.connected():
            raise link.NotOurs
        if command.strip():
            log.boundary(command.strip())
        else:
            log.settle()
        answer = link.ask("state" if "--fast" in options else "name")
        state = {
            "event": answer["event"],
            "position": answer.get("name", answer["position"]),
            "branch": answer["branch"],
            "branch_title": branches.title(answer["branch_number"]) if answer["branch"] else None,
            "at_start": answer["at_start"],
            "at_end": answer["at_end"],
            "pc": answer["pc"],
            "thread": threads.number() if answer["threaded"] else None,
            **place.where(),
            "history": log.done,
            "undone": len(log.entries) - log.done,
        }
        gdb.write(json.dumps(state) + "\n")


def define() -> None:
    State()
