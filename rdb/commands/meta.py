"""Commands about the session itself."""

from __future__ import annotations

from rdb.commands.quoting import word
from rdb.commands.registry import REGISTRY, Group, command
from rdb.commands.values import HelpIndex, HelpPage, Leave
from rdb.session.session import Outcome, Session


@command("help", group=Group.SESSION, usage="help [COMMAND]", aliases=("h",))
async def help_(session: Session, name: str = "") -> HelpIndex | HelpPage | Outcome:
    """List the commands, or explain one; for a command of GDB show GDB's own help."""
    if not name:
        return HelpIndex(REGISTRY.groups())
    name = word(name)
    known = REGISTRY.get(name)
    if known is not None:
        return HelpPage(known)
    return await session.ask(f"help {name}")


@command("quit", group=Group.SESSION, aliases=("q", "exit"))
async def quit_(session: Session) -> Leave:
    """Leave; the recording stays as it was."""
    return Leave()
