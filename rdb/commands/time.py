"""Commands that move through time.  The GDB extension does the work in each rank."""

from __future__ import annotations

from pathlib import Path

from rdb.commands.quoting import word
from rdb.commands.registry import Group, Need, command
from rdb.commands.values import History, Saved
from rdb.errors import Usage
from rdb.session.session import Outcome, Session, Travelled


@command("undo", group=Group.TIME, usage="undo [COUNT | --to BOOKMARK]", needs=Need.STOPPED)
async def undo(session: Session, count: str = "") -> Travelled:
    """Take back the last command, or the last COUNT, or all since a bookmark was set.

    Each command is undone in exactly the ranks it went to, wherever the focus is now; positions,
    breakpoints, displays, settings and the focus are as they were before it. Commands that changed
    nothing are passed over. In a branch each command is undone alone.
    """
    words = count.split()
    if len(words) == 2 and words[0] == "--to":
        return await session.undo(session.log.since_bookmark(word(words[1])))
    if len(words) > 1 or (words and not (words[0].isdigit() and int(words[0]))):
        raise Usage(f"{count!r} is not a count", "usage: undo [COUNT | --to BOOKMARK]")
    return await session.undo(int(words[0]) if words else 1)


@command("redo", group=Group.TIME, usage="redo [COUNT]", needs=Need.STOPPED)
async def redo(session: Session, count: int = 1) -> Travelled:
    """Do again what `undo` took back."""
    return await session.redo(count)


@command("history", group=Group.TIME, usage="history [--save FILE]")
async def history(session: Session, option: str = "") -> History | Saved:
    """List the commands of this session, their ranks, and where those stood before and after.

    `--save FILE` writes the commands into a file, for `source FILE` on this recording or another.
    """
    if not option:
        return History(session.log.done, session.log.undone)
    flag, _, path = option.partition(" ")
    path = word(path.strip())
    if flag != "--save" or not path:
        raise Usage(f"history does not take {option!r}", "usage: history [--save FILE]")
    lines = [entry.text for entry in session.log.done]
    try:
        Path(path).expanduser().write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise Usage(f"cannot write {path}: {error.strerror}") from error
    return Saved(path, len(lines))


@command(
    "branch",
    group=Group.TIME,
    usage="branch [list | name [BRANCH] NAME | go BRANCH | drop [BRANCH]]",
    needs=Need.STOPPED,
)
async def branch(session: Session, what: str = "") -> Outcome:
    """List, name, enter again or drop the what-if branches of the ranks in focus.

    Changing memory or registers, or calling a function, leaves the recording for a branch, which
    the prompt shows. Going on there runs the program against the recording until it asks for
    something that the recording cannot answer. The recording itself stays as it is.
    """
    return await session.run(f"branch {what}".strip())


@command("when", group=Group.TIME, needs=Need.STOPPED)
async def when(session: Session) -> Outcome:
    """Say where in the recording each rank in focus stands."""
    return await session.run("when")


@command(
    "goto", group=Group.TIME, usage="goto EVENT|start|end|POSITION|BOOKMARK", needs=Need.STOPPED
)
async def goto(session: Session, to: str) -> Outcome:
    """Go to an event, the start, the end, a position (as `when` shows it) or a bookmark.

    `goto event 20` is `goto 20`.
    Each rank numbers its own events: the same number is not the same moment in two ranks.
    """
    return await session.run(f"goto {to}")


@command("bookmark", group=Group.TIME, usage="bookmark [NAME]", needs=Need.STOPPED)
async def bookmark(session: Session, name: str = "") -> Outcome:
    """Give the position of each rank in focus a name, for `goto`; without NAME list them."""
    return await session.run(f"bookmark {name}".strip())
