"""One GDB in MI mode: a command in, its whole answer out.

How the end of a command is known: GDB answers it with a result record of the same token.  A command
that makes the program run is answered `^running` at once; GDB (with `mi-async off`, its default)
reads its next command only when the program has stopped again and everything belonging to the
stop was printed.  So a second command, the fence, is sent right behind, and its result is the end.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rdb.errors import MissingTool, RdbError
from rdb.recording.symbols.gdb_batch import gdb_environment, gdb_program
from rdb.session.ending import to_its_end
from rdb.session.mi import MiLine, console_command, parse_line
from rdb.session.processes import Process, descendants

LINE_LIMIT = 64 << 20  # one line may hold the answer to a large `print`
_QUIT = "Quit"  # GDB's word for a command that Ctrl-C has ended
_CLOSE_S = 5.0
_HEED_S = 5.0  # Ctrl-C
_PRESSES = 12
_FENCE = "-gdb-show confirm"
_PROGRESS = "rdb-progress: "  # gdb_scripts/rdb_gdb/searching.py
# GDB reads files through the server, which is here and quick: nobody wants to hear of each.
_FETCHING = re.compile(
    r"Reading .* from remote target\.\.\.\n"
    r"|warning: File transfers from remote targets can be slow\."
)
_SETTINGS = (
    "confirm off",
    "breakpoint pending off",  # else GDB asks, answers itself, and it looks like a success
    "pagination off",
    "width 0",
    "height 0",
    "style enabled off",
    "debuginfod enabled off",
)


# `explore` and its kin ask on GDB's input: that is MI's, and they would swallow what comes next.
_NO_QUESTIONS = (
    "python import sys, types; sys.stdin = types.SimpleNamespace(readline=lambda *_: "
    "exec('raise gdb.GdbError(\\'it asks questions, which nobody can answer here\\')'))"
)


class GdbDied(RdbError):
    """The GDB of a rank is gone."""

    hint = "leave the console and attach again"


class CommandTimeout(RdbError):
    """A command took longer than it was given."""


@dataclass
class Answer:
    """What GDB answered to one command."""

    text: str = ""
    error: str | None = None
    payload: Any = None
    stopped: dict[str, Any] | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass
class _Pending:
    token: int
    fence: int
    over: asyncio.Future[None]
    on_output: Callable[[str], None] | None = None
    streams: list[tuple[str, str]] = field(default_factory=list)
    result: MiLine | None = None
    late_error: str | None = None
    stopped: dict[str, Any] | None = None


class ProcessLike(Protocol):
    """A process and its streams: asyncio.subprocess.Process, or a copy of one."""

    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


class GdbProcess:
    """Made by `start`; runs one command at a time; `close` leaves no process behind."""

    def __init__(self, process: ProcessLike, name: str) -> None:
        self._process = process
        self._name = name
        self._lock = asyncio.Lock()
        self._token = 0
        self._pending: _Pending | None = None
        self.on_progress: Callable[[str], None] | None = None
        self._last_words: deque[str] = deque(maxlen=20)
        self._reader = asyncio.create_task(self._read())
        self._errors = asyncio.create_task(self._read_errors())

    @classmethod
    async def start(cls, arguments: Sequence[str] = (), name: str = "gdb") -> GdbProcess:
        """Starts `gdb -nx -q --interpreter=mi3 ARGUMENTS`."""
        program = gdb_program()
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                "-nx",
                "-q",
                "--interpreter=mi3",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_LIMIT,
                start_new_session=True,  # the terminal's Ctrl-C is ours to pass on
                env=_environment(),
            )
        except (FileNotFoundError, PermissionError) as error:
            raise MissingTool(f"cannot run {program}", "install it: apt install gdb") from error
        gdb = cls(process, name)
        try:
            for setting in _SETTINGS:
                await gdb.mi(f"-gdb-set {setting}")
            await gdb.execute(_NO_QUESTIONS)
        except BaseException:
            await gdb.close()
            raise
        return gdb

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._reader.done()

    @property
    def busy(self) -> bool:
        return self._pending is not None

    async def execute(
        self,
        command: str,
        timeout_s: float | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Answer:
        """Runs one command of GDB's command line, to its end or the program's next stop."""
        return await self.mi(console_command(command), timeout_s, on_output)

    async def mi(
        self,
        command: str,
        timeout_s: float | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Answer:
        """Runs one MI command.  ON_OUTPUT hears what it prints while it prints it."""
        async with self._lock:
            self._check_alive()
            over = asyncio.get_running_loop().create_future()
            pending = _Pending(self._token + 1, self._token + 2, over, on_output)
            self._token += 2
            self._pending = pending
            try:
                self._send(f"{pending.token}{command}\n{pending.fence}{_FENCE}\n")
                await self._wait(pending, command, timeout_s)
            finally:
                self._pending = None
            return _answer(pending)

    async def _wait(self, pending: _Pending, command: str, timeout_s: float | None) -> None:
        try:
            # Shielded: when the caller gives up, GDB must still be brought back to its prompt.
            await asyncio.wait_for(asyncio.shield(pending.over), timeout_s)
        except (TimeoutError, asyncio.CancelledError) as error:
            await self._break_off(pending)
            if isinstance(error, asyncio.CancelledError):
                raise
            raise CommandTimeout(f"{command} took longer than {timeout_s:g} s") from error

    async def _break_off(self, pending: _Pending) -> None:
        # Again, but not soon: one sent just before a command starts does not stop it, and after two
        # GDB gives up a server that has not answered the first yet.
        for _ in range(_PRESSES):
            self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(pending.over), _HEED_S)
                return
        self._process.kill()  # does not listen any more

    def interrupt(self) -> None:
        """Ctrl-C: stops the program, or whatever GDB is busy with."""
        if self.alive and self.busy:
            os.kill(self.pid, signal.SIGINT)

    @to_its_end
    async def close(self) -> None:
        """Ends GDB and everything under it."""
        below: list[Process] = descendants(self.pid) if self._process.returncode is None else []
        if self.alive:
            self._send("-gdb-exit\n")
        if self._process.stdin is not None:
            self._process.stdin.close()
        deadline = asyncio.get_running_loop().time() + _CLOSE_S
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() > deadline:
                self._process.kill()
            else:
                # Again and again: one sent just before a command starts does not stop it.
                self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), 0.25)
        await _gone(below)
        # asyncio complains of an error that nobody has asked for.
        if self._process.stdin is not None:
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._process.stdin.wait_closed(), _CLOSE_S)
        # It keeps pipes that somebody else still has, and complains of them at the end, too.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        self._reader.cancel()
        self._errors.cancel()
        await asyncio.gather(self._reader, self._errors, return_exceptions=True)

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())

    def _check_alive(self) -> None:
        if not self.alive:
            raise self._died()

    def _died(self) -> GdbDied:
        words = " | ".join(line for line in self._last_words if line)
        return GdbDied(f"{self._name} ended by itself" + (f" ({words})" if words else ""))

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._take(parse_line(line.decode(errors="replace").rstrip("\n")))
        finally:
            if self._pending is not None and not self._pending.over.done():
                self._pending.over.set_exception(self._died())

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._last_words.append(line.decode(errors="replace").strip())

    def _take(self, line: MiLine) -> None:
        pending = self._pending
        if pending is None:
            return
        if line.kind == "log" and str(line.payload).startswith(_PROGRESS):
            if self.on_progress is not None:
                self.on_progress(str(line.payload).removeprefix(_PROGRESS).strip())
            return
        if line.kind in ("console", "log") and _FETCHING.match(str(line.payload)):
            return
        if line.kind in ("console", "log", "target", "output"):
            pending.streams.append((line.kind, str(line.payload or "")))
            if pending.on_output is not None and line.kind == "console":
                pending.on_output(str(line.payload or ""))
        elif line.kind == "notify" and line.message == "stopped":
            pending.stopped = dict(line.payload or {})
        elif line.kind == "result" and line.token == pending.token:
            pending.result = line
        elif line.kind == "result" and line.token == pending.fence:
            if not pending.over.done():
                pending.over.set_result(None)
        elif line.kind == "result" and line.token is None and line.message == "error":
            # An error after ^running, e.g. the connection was lost, carries no token.
            pending.late_error = _message(line)


def _environment() -> dict[str, str]:
    """GDB's extension is to start the server of this rdb, not of another one on PATH."""
    environment = gdb_environment()
    beside = Path(sys.executable).parent / "rdb"
    if beside.exists():
        environment.setdefault("RDB_EXECUTABLE", str(beside))
    return environment


def _message(line: MiLine) -> str:
    payload = line.payload if isinstance(line.payload, dict) else {}
    return str(payload.get("msg") or "error")


def _answer(pending: _Pending) -> Answer:
    answer = Answer(stopped=pending.stopped, error=pending.late_error)
    result = pending.result
    if result is not None and result.message == "error":
        answer.error = _message(result)
    elif result is not None:
        answer.payload = result.payload
    # GDB says an error on its log stream too; warnings only there.
    said = {line.strip() for line in (answer.error or "").splitlines()}
    parts = [text for kind, text in pending.streams if kind != "log" or text.strip() not in said]
    answer.text = "".join(parts).strip("\n")
    if answer.error == _QUIT:
        answer.error = "Interrupted."
    return answer


async def _gone(processes: Sequence[Process]) -> None:
    """They end when GDB does, by end of file on their pipe; the ones that do not are killed."""
    deadline = asyncio.get_running_loop().time() + _CLOSE_S / 2
    while any(process.alive for process in processes):
        if asyncio.get_running_loop().time() > deadline:
            for process in processes:
                process.kill()
            return
        await asyncio.sleep(0.01)
