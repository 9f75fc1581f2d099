"""One command of the console, from its line to its answer on the screen."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Awaitable, Iterable
from typing import TextIO, TypeVar

from rich.console import Console
from rich.text import Text

from rdb.commands.quoting import as_meant
from rdb.commands.table import REGISTRY
from rdb.commands.values import Bisected, Followed, Leave, Live, Printed, Script, ShellLine, Stacks
from rdb.console.input import read_lines
from rdb.console.lines import LineReader
from rdb.console.prompt import prompt_text
from rdb.console.refused import refuse
from rdb.console.render import error_line, render
from rdb.errors import RdbError, Usage
from rdb.session.merge import merge
from rdb.session.ranks import Rank
from rdb.session.session import Outcome, Session, Travelled

T = TypeVar("T")
_DEEPEST = 16  # most scripts within scripts
_POINTS = re.compile(
    r"i(n|nf|nfo)?\s+(b|br|bre|brea|break\w*|wat|watc|watch|watchp\w*)(\s|$)"
)  # as short as GDB takes them


class Interrupted(Exception):
    """Ctrl-C ended a command before its answer."""


class Shell:
    """Runs lines.  `left` is set by quit; `failures` and `interrupts` count."""

    def __init__(self, session: Session, out: Console) -> None:
        self.session = session
        self.out = out
        self.left = False
        self.failures = 0
        self.interrupts = 0
        self._depth = 0

    async def run(self, text: str) -> None:
        """Runs one command, shows its answer, and reports GDBs that ended meanwhile."""
        await self._run(text)
        for group in merge(self.session.lost):
            self.out.print(Text(f"{group.label}: {group.value} (rdb had closed its GDB)"))
        self.session.lost.clear()
        if not self.left:
            await self.session.trim()

    async def _run(self, text: str) -> None:
        try:
            value = await self.guarded(self._call(text))
        except RdbError as error:
            self.failures += 1
            error_line(f"{error.message}; {error.hint}" if error.hint else error.message, self.out)
            return
        except Interrupted:
            self.failures += 1
            self.out.print("interrupted")
            return
        if isinstance(value, Leave):
            self.left = True
            return
        if isinstance(value, Script):
            await self._source(value)
            return
        if isinstance(value, ShellLine):
            await self._outside(value.line)
            return
        if not succeeded(value):
            self.failures += 1
        render(value, self.out)

    async def follow(self, lines: Iterable[str] | TextIO) -> None:
        """Runs the commands of a script or a pipe, each echoed behind its prompt."""
        reader = LineReader()
        interrupts = self.interrupts
        async for line in read_lines(lines):
            text = reader.feed(line)
            if not text:
                continue
            self.out.print(Text(prompt_text(self.session) + text))
            await self.run(text)
            if self.interrupts > interrupts or self.left:
                return
        if reader.depth:
            self.failures += 1
            error_line(f"`{reader.drop()}` has no `end`", self.out)

    async def _source(self, script: Script) -> None:
        if self._depth >= _DEEPEST:
            self.failures += 1
            error_line(f"{script.path}: more than {_DEEPEST} scripts within each other", self.out)
            return
        self._depth += 1
        try:
            await self.follow(script.lines)
        finally:
            self._depth -= 1

    async def _outside(self, line: str) -> None:
        """Runs a shell command, which has the terminal and Ctrl-C to itself."""
        self.out.print(
            "rdb: the effects of `shell` are outside of the recording; they cannot be undone."
        )
        sys.stdout.flush()
        loop = asyncio.get_running_loop()
        previous = signal.getsignal(signal.SIGINT)
        # a handler, as SIG_IGN would be inherited
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        try:
            shell = await asyncio.create_subprocess_shell(
                line, stdin=None if self.out.is_terminal else asyncio.subprocess.DEVNULL
            )
            await shell.wait()
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, previous)

    async def _call(self, text: str) -> object:
        if text.startswith("!"):  # GDB's short form of `shell`
            text = f"shell {text[1:]}"
        found = REGISTRY.find(text)
        if found is not None:
            command, arguments = found
            return await command.call(self.session, arguments)
        if text.split(maxsplit=1)[0:1] == ["rdb"]:
            raise Usage("`rdb` is a command of the shell", f"in the console: shell {text.strip()}")
        refuse(text)
        if _POINTS.match(text):  # GDB's own table lacks hits that `undo` took back
            return await self.session.run(f"rdb-hits {text}", text)
        return await self.session.run(as_meant(text), text)

    async def guarded(self, work: Awaitable[T]) -> T:
        """Runs WORK; the first Ctrl-C interrupts GDB, if it runs, the next one cancels WORK.

        Interrupted: WORK was cancelled by Ctrl-C.
        """
        task = asyncio.ensure_future(work)
        status = self.out.status("")

        def on_progress(rank: Rank, text: str) -> None:
            status.update(Text(f"rank {rank}: {text}"))
            status.start()

        if self.out.is_terminal:
            self.session.on_progress = on_progress
        loop = asyncio.get_running_loop()
        pressed = 0

        def on_interrupt() -> None:
            nonlocal pressed
            pressed += 1
            self.interrupts += 1
            if self.session.busy and pressed == 1:
                self.session.interrupt()
            else:
                task.cancel()

        previous = signal.getsignal(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, on_interrupt)
        caller = asyncio.current_task()
        assert caller is not None
        try:
            result = await task
        except asyncio.CancelledError:
            if pressed and not caller.cancelling():
                raise Interrupted from None
            raise
        finally:
            self.session.on_progress = None
            status.stop()
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, previous)
        # WORK may have ended with what was known by then; its caller shall end, too.
        if caller.cancelling():
            raise asyncio.CancelledError
        return result


def succeeded(value: object) -> bool:
    if isinstance(value, Outcome):
        return value.ok
    if isinstance(value, Printed | Bisected):
        return value.outcome.ok
    if isinstance(value, Travelled):
        return not value.errors
    if isinstance(value, Stacks):
        return not value.failed
    if isinstance(value, Followed):
        return not value.errors
    if isinstance(value, Live):
        return not any(isinstance(one, RdbError) for one in value.ranks.values())
    return True
