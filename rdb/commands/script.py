"""Commands that write and read scripts, and `shell`, which acts outside of the recording."""

from __future__ import annotations

from pathlib import Path

from rdb.commands.quoting import word
from rdb.commands.registry import Group, command
from rdb.commands.values import Script, ShellLine
from rdb.errors import Usage
from rdb.session.session import Outcome, Session

_GDBS_OWN = (".py", ".gdb", ".scm")


@command("source", group=Group.SESSION, usage="source FILE")
async def source(session: Session, path: str) -> Script | Outcome:
    """Run the commands in FILE, for example one that `history --save FILE` has written.

    Each command goes to the ranks in focus and can be undone alone. GDB itself runs FILE.py,
    FILE.gdb and FILE.scm.
    """
    path = word(path)
    file = Path(path).expanduser()
    if file.suffix in _GDBS_OWN:
        return await session.run(f"source {file.absolute()}", text=f"source {path}")
    try:
        return Script(path, file.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise Usage(f"cannot read {path}: {reason}") from error


@command("shell", group=Group.SESSION, usage="shell COMMAND")
async def shell(session: Session, line: str) -> ShellLine:
    """Run a shell command, once for all ranks; its effects cannot be undone."""
    return ShellLine(line)
