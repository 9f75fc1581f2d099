"""Names that users of rr and of Undo know: run, checkpoint, restart; ugo, uinfo, ubookmark.

Some are GDB's own and mean something else there (`run` starts a process): those are taken over when
a recording is opened, and not before.
"""

from __future__ import annotations

from dataclasses import dataclass

import gdb

from . import bookmark, branches, goto, history, link, meant, place
from .command import Command, typed
from .snapshot import Snapshot


@dataclass(frozen=True)
class Checkpoint:
    number: int
    position: str
    where: str
    state: Snapshot


_checkpoints: dict[int, Checkpoint] = {}
_made = 0


def forget() -> None:
    """Another recording has been opened."""
    global _made
    _checkpoints.clear()
    _made = 0


def checkpoints() -> tuple[dict[int, Checkpoint], int]:
    """Those that there are, and how many were made."""
    return _checkpoints, _made


def have_checkpoints(found: dict[int, Checkpoint], made: int) -> None:
    """Those that another GDB of this rank had."""
    global _made
    forget()
    _checkpoints.update(found)
    _made = made


class CheckpointCommand(Command):
    """Remember this place, as in rr: checkpoint
    `restart N` comes back to it, `info checkpoints` lists them, `delete checkpoint N` forgets one.
    In a branch it is the state of the branch."""

    name = "checkpoint"

    def invoke(self, argument: str, from_tty: bool) -> None:
        global _made
        if argument.strip():
            raise gdb.GdbError("Usage: checkpoint")
        name = link.ask("name")["name"]
        state = here()
        _made += 1
        _checkpoints[_made] = Checkpoint(_made, name, described(), state)
        gdb.write(f"Checkpoint {_made} at {_checkpoints[_made].where}\n")


class Restart(Command):
    """Go back (or forward) to a checkpoint, as in rr: restart N"""

    name = "restart"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        checkpoint = numbered(argument)
        link.connection()
        if not branches.kept(checkpoint.state):
            raise gdb.GdbError(f"Checkpoint {checkpoint.number}: its branch is not kept any more.")
        with history.log.command(typed(self.name, argument)):
            place.seek(checkpoint.state.target)
            place.show()


class DeleteCheckpoint(Command):
    """Forget a checkpoint: delete checkpoint N"""

    name = "delete checkpoint"

    def invoke(self, argument: str, from_tty: bool) -> None:
        del _checkpoints[numbered(argument).number]


class InfoCheckpoints(Command):
    """List the checkpoints that `checkpoint` made: info checkpoints"""

    name = "info checkpoints"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        if not _checkpoints:
            gdb.write("No checkpoints.\n")
        for checkpoint in _checkpoints.values():
            gdb.write(f"{checkpoint.number:<4} {checkpoint.position:<24} {checkpoint.where}\n")


class Run(Command):
    """Go to an event of the recording, to its start without one, as in rr: run [EVENT]"""

    name = "run"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        if not link.opened():
            # GDB's own, which this command stands in front of since a recording was opened.
            gdb.execute(f"starti {argument}", from_tty)
            gdb.execute("continue", from_tty)
            return
        goto.go(argument.strip() or "START", typed(self.name, argument))


class Ugo(Command):
    """Go to a place, as in Undo: ugo start|end, ugo event|time N, ugo bookmark NAME
    A time is what `when` prints: an event, or a position EVENT:PC:N."""

    name = "ugo"

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = typed(self.name, argument)
        match argument.split():
            case ["start" | "end" as word]:
                goto.go(word.upper(), text)
            case ["event" | "time", to] if to[0].isdigit():
                goto.go(to.replace(",", ""), text)
            case ["bookmark", name]:
                goto.go(bookmark.find(name).position, text)
            case _:
                raise gdb.GdbError("Usage: ugo start|end, ugo event|time N, ugo bookmark NAME")


class Uinfo(Command):
    """Say where one is in the recording, as in Undo: uinfo time|bookmarks"""

    name = "uinfo"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        match argument.split():
            case ["time"]:
                answer, info = link.ask("name"), link.ask("info")
                first, last = info["first_event"], info["last_event"]
                percent = 100 * (answer["event"] - first) // max(last - first, 1)
                gdb.write(f"Current time is: {answer['name']} ({percent}%)\n")
                gdb.write(f"Recorded events: {first:,} - {last:,}\n")
            case ["bookmarks"]:
                bookmark.listing()
            case _:
                raise gdb.GdbError("Usage: uinfo time|bookmarks")


class Ubookmark(bookmark.Bookmark):
    """Name the current position, as in Undo: ubookmark NAME
    The same as `bookmark`."""

    name = "ubookmark"


def numbered(argument: str) -> Checkpoint:
    word = argument.strip()
    if not word.isdigit() or int(word) not in _checkpoints:
        raise gdb.GdbError(f"No checkpoint number {word}." if word else "Which checkpoint?")
    return _checkpoints[int(word)]


def here() -> Snapshot:
    history.log.settle()
    state = history.log.current
    assert state is not None  # or settle had raised
    return state


def described() -> str:
    """As GDB writes a location, without the frame's number: `main () at ring.c:31`."""
    lines = gdb.execute("frame", to_string=True).splitlines()
    return lines[0].partition(" ")[2].strip() if lines else "?"


_taken = False


def take_over() -> None:
    """The names that GDB has for something else: ours from now on in this GDB."""
    global _taken
    if not _taken:
        _taken = True
        for command in (CheckpointCommand, Restart, DeleteCheckpoint, InfoCheckpoints, Run):
            command()
        meant.take_over()


def define() -> None:
    for command in (Ugo, Uinfo, Ubookmark):
        command()
