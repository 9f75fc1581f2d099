"""One GDB in MI mode: runs a command and returns its whole answer.

GDB answers a command with a result record of the same token.  But it answers a command that makes
the program run with `^running` at once, and (with `mi-async off`, its default) reads its next
command only when the program has stopped and all output about the stop is printed.  So we send a
second command, the fence, right behind the first; its result marks the end of the first.
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
from rdb.paths import gdb_scripts_dir
from rdb.recording.symbols.gdb_batch import gdb_environment, gdb_program
from rdb.session.ending import to_its_end
from rdb.session.mi import MiLine, console_command, parse_line
from rdb.session.processes import Process, descendants
from rdb.trace import tracer
from rdb.undoing import on_failure_await

LINE_LIMIT = 64 << 20  # one line may hold the answer to a large `print`
_QUIT = "Quit"  # GDB's word for a command that Ctrl-C has ended
_CLOSE_S = 5.0
_HEED_S = 5.0  # how long GDB may take to react to an interrupt
_PRESSES = 12
_FENCE = "-gdb-show confirm"
_trace = tracer("control")
_PROGRESS = "rdb-progress: "  # gdb_scripts/rdb_gdb/link/progress.py
# GDB reads files through our local server, which is fast, so its messages about it are dropped.
_FETCHING = re.compile(
    r"Reading .* from remote target\.\.\.\n"
    r"|warning: File transfers from remote targets can be slow\."
)
_SETTINGS = (
    "confirm off",
    "breakpoint pending off",  # else GDB answers its own question, which looks like a success
    "pagination off",
    "width 0",
    "height 0",
    "style enabled off",
    "debuginfod enabled off",
)


# `explore` and others read answers from stdin; in MI mode they would consume the next command.
_NO_QUESTIONS = (
    "python import sys, types; sys.stdin = types.SimpleNamespace(readline=lambda *_: "
    "exec('raise gdb.GdbError(\\'this command asks questions, which cannot be answered here\\')'))"
)


class GdbDied(RdbError):
    """The GDB of a rank is gone."""

    hint = "leave the console and attach again"


class CommandTimeout(RdbError):
    """A command took longer than it was given."""


@dataclass
class Answer:
    """The answer of GDB to one command."""

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
    """One GDB; `start` makes it.  It runs one command at a time; `close` leaves no process behind.

    Commands raise GdbDied if GDB has ended, CommandTimeout after their timeout.
    """

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
    async def with_extension(cls, name: str, options: Sequence[str] = ()) -> GdbProcess:
        """Starts a GDB that has rdb's commands.  Raises MissingTool."""
        script = gdb_scripts_dir() / "rdb.py"
        if not script.exists():
            raise MissingTool(f"{script} is missing", "install rdb again")
        return await cls.start([*options, "-x", str(script)], name)

    @classmethod
    async def start(cls, arguments: Sequence[str] = (), name: str = "gdb") -> GdbProcess:
        """Starts `gdb -nx -q --interpreter=mi3 ARGUMENTS`.  Raises MissingTool."""
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
                start_new_session=True,  # the terminal's Ctrl-C must reach only us
                env=_environment(),
            )
        except (FileNotFoundError, PermissionError) as error:
            raise MissingTool(f"cannot run {program}", "apt-get install gdb") from error
        gdb = cls(process, name)
        async with on_failure_await(gdb.close):
            for setting in _SETTINGS:
                await gdb.mi(f"-gdb-set {setting}")
            await gdb.execute(_NO_QUESTIONS)
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
        """Runs one CLI command, to its end or to the program's next stop."""
        return await self.mi(console_command(command), timeout_s, on_output)

    async def mi(
        self,
        command: str,
        timeout_s: float | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Answer:
        """Runs one MI command.  ON_OUTPUT is called with its output as it appears."""
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
            # Shielded: if the caller gives up, GDB must still be brought back to its prompt.
            await asyncio.wait_for(asyncio.shield(pending.over), timeout_s)
        except (TimeoutError, asyncio.CancelledError) as error:
            await self._break_off(pending)
            if isinstance(error, asyncio.CancelledError):
                raise
            raise CommandTimeout(f"{command} took longer than {timeout_s:g} s") from error

    async def _break_off(self, pending: _Pending) -> None:
        # An interrupt just before a command starts does not stop it, so it is sent again.  But GDB
        # drops a server that has not answered the first of two interrupts, so not soon.
        for _ in range(_PRESSES):
            self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(pending.over), _HEED_S)
                return
        self._process.kill()  # GDB does not react

    def interrupt(self) -> None:
        """Ctrl-C: stops the program or the command of GDB under way."""
        if self.alive and self.busy:
            os.kill(self.pid, signal.SIGINT)

    @to_its_end
    async def close(self) -> None:
        """Ends GDB and its descendants."""
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
                # Repeated: an interrupt just before a command starts does not stop it.
                self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), 0.25)
        await _gone(below)
        # Fetches the stream's error, else asyncio prints it.
        if self._process.stdin is not None:
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._process.stdin.wait_closed(), _CLOSE_S)
        # asyncio keeps a pipe that another process still has open, and prints a warning at exit.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        self._reader.cancel()
        self._errors.cancel()
        await asyncio.gather(self._reader, self._errors, return_exceptions=True)

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        if _trace:
            _trace(f"{self._name} <- {text!r}")
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
                if _trace:
                    _trace(f"{self._name} -> {line!r}")
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
            # An error after ^running, such as a lost connection, has no token.
            pending.late_error = _message(line)


def _environment() -> dict[str, str]:
    """The environment of GDB; its extension must start this rdb's server, not another in PATH."""
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
    # GDB prints errors also on its log stream, warnings only there.
    said = {line.strip() for line in (answer.error or "").splitlines()}
    parts = [text for kind, text in pending.streams if kind != "log" or text.strip() not in said]
    answer.text = "".join(parts).strip("\n")
    if answer.error == _QUIT:
        answer.error = "Interrupted."
    return answer


async def _gone(processes: Sequence[Process]) -> None:
    """Waits until processes below GDB have ended (their pipe is closed); kills those that do
    not."""
    deadline = asyncio.get_running_loop().time() + _CLOSE_S / 2
    while any(process.alive for process in processes):
        if asyncio.get_running_loop().time() > deadline:
            for process in processes:
                process.kill()
            return
        await asyncio.sleep(0.01)
