"""Starting the console: interactive on a terminal, else a script or piped input."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from prompt_toolkit import PromptSession

from rdb.commands.table import REGISTRY
from rdb.commands.values import Ranks
from rdb.console.completion import ConsoleCompleter
from rdb.console.kept_lines import KeptLines
from rdb.console.lifetime import supervised
from rdb.console.lines import LineReader
from rdb.console.prompt import prompt_text
from rdb.console.render import render
from rdb.console.shell import Interrupted, Shell
from rdb.console.terminal import make_console
from rdb.errors import Usage
from rdb.recording import open_job
from rdb.session.live import ElsewhereLike
from rdb.session.overview import overview
from rdb.session.session import JobLike, Session


def main(
    job: str | JobLike, script: str | None = None, elsewhere: ElsewhereLike | None = None
) -> int:
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
    job: JobLike, lines: Iterable[str] | TextIO | None, elsewhere: ElsewhereLike | None
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
            return await _interact(shell)
        return await _follow(shell, lines)


async def _follow(shell: Shell, lines: Iterable[str] | TextIO) -> int:
    """Runs the commands of a script or a pipe; returns the exit code."""
    await shell.follow(lines)
    if shell.interrupts:
        return 130
    return 1 if shell.failures else 0


async def _interact(shell: Shell) -> int:
    """Reads a command and shows its answer, until quit or Ctrl-D."""
    history = KeptLines()
    prompts: PromptSession[str] = PromptSession(
        history=history,
        completer=ConsoleCompleter(shell.session),
        complete_while_typing=False,
    )
    shell.session.prepare()
    reader = LineReader()
    repeat = ""
    while not shell.left:
        trouble = history.trouble()
        if trouble is not None:
            print(f"rdb: {trouble}", file=sys.stderr)
        try:
            line = await prompts.prompt_async(
                "> " if reader.depth else prompt_text(shell.session), handle_sigint=True
            )
        except KeyboardInterrupt:
            reader.drop()
            continue
        except EOFError:
            break
        text = reader.feed(line)
        if text is None:
            continue
        # As in GDB, an empty line repeats the last command that GDB got: step, next, x, list.
        text = text or repeat
        if text:
            await shell.run(text)
            repeat = text if REGISTRY.find(text) is None else ""
    return 0
