"""Starting the console: interactive on a terminal, else a script or piped input."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rdb.commands.values import Ranks
from rdb.console.lifetime import supervised
from rdb.console.render import render
from rdb.console.shell import Interrupted, Shell
from rdb.console.terminal import make_console
from rdb.errors import Usage
from rdb.recording import Job, open_job
from rdb.session.live import ElsewhereLike
from rdb.session.overview import overview
from rdb.session.session import Session


def main(job: str | Job, script: str | None = None, elsewhere: ElsewhereLike | None = None) -> int:
    """`rdb attach JOB [-x SCRIPT]`.

    Returns 0, 1 if a command of a script failed or a rank could not be brought to its end, 130 for
    Ctrl-C. Without a terminal each command is echoed behind its prompt, as in a transcript, and the
    commands after a failed one still run. ELSEWHERE: agents on the job's other hosts.
    """
    opened = open_job(job) if isinstance(job, str) else job
    if script is not None:
        try:
            with open(script, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not text"
            raise Usage(f"cannot read {script}: {reason}") from error
        return supervised(_attach(opened, lines, elsewhere))
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    return supervised(_attach(opened, None if interactive else sys.stdin, elsewhere))


async def _attach(
    job: Job, lines: Iterable[str] | TextIO | None, elsewhere: ElsewhereLike | None
) -> int:
    out = make_console()
    async with Session(job) as session:
        session.live.elsewhere = elsewhere
        shell = Shell(session, out)
        try:
            with out.status(f"opening {len(session.ranks)} ranks"):
                await shell.guarded(session.set_focus(session.ranks))
        except Interrupted:
            return 130
        render(Ranks(overview(session)), out)
        # A script goes on, but a rank that is not at its end counts as a failure.
        shell.failures += sum(session.short(rank) is not None for rank in session.ranks)
        if lines is None:
            # late import: prompt_toolkit, which a script does not need
            from rdb.console.interactive import interact

            return await interact(shell)
        return await _follow(shell, lines)


async def _follow(shell: Shell, lines: Iterable[str] | TextIO) -> int:
    """Runs the commands of a script or a pipe; returns the exit code."""
    await shell.follow(lines)
    if shell.interrupts:
        return 130
    return 1 if shell.failures else 0
