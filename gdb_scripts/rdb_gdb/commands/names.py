"""Commands known from rr and Undo: run, checkpoint, restart; ugo, uinfo, ubookmark.

Some names are GDB's own (`run` starts a process).  These are taken over when the first recording is
opened.
"""

from __future__ import annotations

from typing import NamedTuple

import gdb

from .. import link
from ..state import bookmarks, branches, history, place
from ..state.snapshot import Snapshot
from . import bookmark, goto
from .command import Command, command, typed


class Checkpoint(NamedTuple):
    number: int
    position: str
    where: str
    state: Snapshot


_checkpoints: dict[int, Checkpoint] = {}
_made = 0


def forget() -> None:
    """Drops all checkpoints: another recording was opened."""
    global _made
    _checkpoints.clear()
    _made = 0


def checkpoints() -> tuple[dict[int, Checkpoint], int]:
    """The checkpoints by number, and how many were made."""
    return _checkpoints, _made


def have_checkpoints(found: dict[int, Checkpoint], made: int) -> None:
    """Restores the checkpoints of another GDB of this rank."""
    global _made
    forget()
    _checkpoints.update(found)
    _made = made


@command("checkpoint", takes_over=True)
class CheckpointCommand(Command):
    """Remember this position, as in rr: checkpoint
    `restart N` comes back to it, `info checkpoints` lists them, `delete checkpoint N` forgets one.
    In a branch it keeps the state of the branch."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        global _made
        if argument.strip():
            raise gdb.GdbError("Usage: checkpoint")
        name = link.ask("name")["name"]
        state = here()
        _made += 1
        _checkpoints[_made] = Checkpoint(_made, name, described(), state)
        gdb.write(f"Checkpoint {_made} at {_checkpoints[_made].where}\n")


@command("restart", takes_over=True)
class Restart(Command):
    """Go back (or forward) to a checkpoint, as in rr: restart N"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        checkpoint = numbered(argument)
        link.connection()
        if not branches.kept(checkpoint.state):
            raise gdb.GdbError(f"Checkpoint {checkpoint.number}: its branch was not kept.")
        with history.log.command(typed(self.name, argument)):
            place.seek(checkpoint.state.target)
            place.show()


@command("delete checkpoint", takes_over=True)
class DeleteCheckpoint(Command):
    """Forget a checkpoint: delete checkpoint N"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        del _checkpoints[numbered(argument).number]


@command("info checkpoints", gdb.COMMAND_STATUS, takes_over=True)
class InfoCheckpoints(Command):
    """List the checkpoints that `checkpoint` made: info checkpoints"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        if not _checkpoints:
            gdb.write("No checkpoints.\n")
        for checkpoint in _checkpoints.values():
            gdb.write(f"{checkpoint.number:<4} {checkpoint.position:<24} {checkpoint.where}\n")


@command("run", takes_over=True)
class Run(Command):
    """Go to an event of the recording, or to its start if none is given, as in rr: run [EVENT]"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        if not link.opened():
            # No recording is open: what GDB's own `run` does.
            gdb.execute(f"starti {argument}", from_tty)
            gdb.execute("continue", from_tty)
            return
        goto.go(argument.strip() or "START", typed(self.name, argument))


@command("ugo")
class Ugo(Command):
    """Go to a place, as in Undo: ugo start|end, ugo event|time N, ugo bookmark NAME
    A time is what `when` prints: an event, or a position EVENT:PC:N."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = typed(self.name, argument)
        words = argument.split()
        if words in (["start"], ["end"]):
            goto.go(words[0].upper(), text)
        elif len(words) == 2 and words[0] in ("event", "time") and words[1][0].isdigit():
            goto.go(words[1].replace(",", ""), text)
        elif len(words) == 2 and words[0] == "bookmark":
            goto.go(bookmarks.find(words[1]).position, text)
        else:
            raise gdb.GdbError("Usage: ugo start|end, ugo event|time N, ugo bookmark NAME")


@command("uinfo", gdb.COMMAND_STATUS)
class Uinfo(Command):
    """Print the current position, or the bookmarks, as in Undo: uinfo time|bookmarks"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = argument.split()
        if words == ["time"]:
            answer, info = link.ask("name"), link.ask("info")
            first, last = info["first_event"], info["last_event"]
            percent = 100 * (answer["event"] - first) // max(last - first, 1)
            gdb.write(f"Current time is: {answer['name']} ({percent}%)\n")
            gdb.write(f"Recorded events: {first:,} - {last:,}\n")
        elif words == ["bookmarks"]:
            bookmark.listing()
        else:
            raise gdb.GdbError("Usage: uinfo time|bookmarks")


@command("ubookmark")
class Ubookmark(bookmark.Bookmark):
    """Name the current position, as in Undo: ubookmark NAME
    The same as `bookmark`."""


def numbered(argument: str) -> Checkpoint:
    word = argument.strip()
    if not word.isdigit() or int(word) not in _checkpoints:
        raise gdb.GdbError(f"No checkpoint number {word}." if word else "Which checkpoint?")
    return _checkpoints[int(word)]


def here() -> Snapshot:
    history.log.settle()
    state = history.log.current
    assert state is not None  # else settle raises
    return state


def described() -> str:
    """As GDB writes a location, without the frame's number: `main () at ring.c:31`."""
    lines = gdb.execute("frame", to_string=True).splitlines()
    return lines[0].partition(" ")[2].strip() if lines else "?"
