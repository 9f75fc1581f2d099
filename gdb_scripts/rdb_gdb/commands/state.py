"""rdb-state: position and state, as one line of JSON, for programs that drive GDB."""

from __future__ import annotations

import json
from typing import Any

import gdb

from .. import link
from ..search import last_calls
from ..state import branches, history, own, place, threads
from .command import Command, command


@command("rdb-state", gdb.COMMAND_STATUS)
class State(Command):
    """Print the state of the session as one line of JSON: rdb-state [--fast] [--command TEXT]
    --fast leaves out making the position's canonical name.  --command says that a command has just
    ended and what it was: all that changed since the last time is one entry of the history."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        options, _, command = argument.partition("--command ")
        if history.log.current is None or not link.connected():
            raise link.NotOurs
        if command.strip():
            history.log.boundary(command.strip())
        else:
            history.log.settle()
        answer = link.ask("state" if "--fast" in options else "name")
        own.select(answer)
        gdb.write(json.dumps(described(answer)) + "\n")


def described(answer: dict[str, Any]) -> dict[str, Any]:
    """The server's answer with what GDB and the history know."""
    log = history.log
    return {
        "event": answer["event"],
        "position": answer.get("name", answer["position"]),
        "branch": answer["branch"],
        "branch_title": branches.title(answer["branch_number"]) if answer["branch"] else None,
        "at_start": answer["at_start"],
        "at_end": answer["at_end"],
        "end_known": answer["end_known"],
        "lost": answer["lost"],
        "pc": answer["pc"],
        "thread": threads.number() if answer["threaded"] else None,
        **place.where(),
        "own": last_calls.line(),
        "history": log.done,
        "undone": len(log.entries) - log.done,
    }
