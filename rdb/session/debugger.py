"""One rank under debug: its GDB with our extension, connected to the rank's server."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace

from rdb.errors import RdbError
from rdb.session.gdb import Answer, GdbProcess
from rdb.session.looking import Looking
from rdb.session.predicates import as_typed
from rdb.session.ranks import Rank
from rdb.session.stacks import in_header, own_frame
from rdb.session.state import Place, RankState, parse_state
from rdb.session.template import Template
from rdb.undoing import on_failure_await

_OPEN_TIMEOUT_S = 120.0  # not for motions: a rank may be far from its end
_OWN_WITHIN = 64  # frames that are searched for one of the user's own


@dataclass(frozen=True)
class RankAnswer:
    """The answer of one rank to a command, and its state before and after."""

    text: str
    error: str | None
    before: RankState | None
    after: RankState | None

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def steps(self) -> int:
        """How many entries the command added to the extension's command log."""
        if self.before is None or self.after is None:
            return 0
        return self.after.history - self.before.history

    @property
    def moved(self) -> bool:
        if self.before is None or self.after is None:
            return False
        return (self.before.position, self.before.pc) != (self.after.position, self.after.pc)


class NotInMemory(RdbError):
    """An expression that has no address, or no value."""


@dataclass(frozen=True)
class Memory:
    """The memory that an expression names; `size` in bytes."""

    address: int
    size: int
    type: str
    """Type in the form that GDB's `{TYPE} ADDRESS` takes."""


class RankDebugger(Looking):
    """The GDB of one rank; `open` and `forked` make it.  `state` is the state after the last
    command."""

    def __init__(self, rank: Rank, gdb: GdbProcess) -> None:
        super().__init__(gdb)
        self.rank = rank
        self._state: RankState | None = None
        self.short: str | None = None
        """Why it was opened at its start instead of its end; None: it was not."""

    @classmethod
    async def open(
        cls,
        job: str,
        rank: Rank,
        at_end: bool = True,
        address: str | None = None,
    ) -> RankDebugger:
        """Starts a GDB on one rank, at the end of its recording unless AT_END is false.

        ADDRESS: name of the process that stands for this rank, if it is another one.  Raises
        MissingTool if the extension or GDB is missing, RdbError if the rank cannot be opened.
        """
        gdb = await GdbProcess.with_extension(f"the gdb of rank {rank}")
        debugger = cls(rank, gdb)
        async with on_failure_await(gdb.close):
            await debugger._connect(f"rdb-open {shlex.quote(job)} {address or rank}")
            if at_end:
                debugger.short = (await gdb.execute("goto end")).error
            debugger._state = await debugger.query_state()
        return debugger

    @property
    def state(self) -> RankState:
        assert self._state is not None  # set by open
        return self._state

    @classmethod
    async def forked(
        cls, rank: Rank, template: Template, address: str, at_end: bool
    ) -> RankDebugger:
        """As `open`, but forks a GDB that has read the program's symbols."""
        gdb = await template.fork(address, at_end, f"the gdb of rank {rank}")
        debugger = cls(rank, gdb)
        async with on_failure_await(gdb.close):
            debugger._state = await debugger.query_state()
        return debugger

    async def run(self, command: str, on_output: Callable[[str], None] | None = None) -> RankAnswer:
        """Runs a GDB command, or several lines as one."""
        if "\n" in command:
            return await self._run_block(command)
        return await self._observed(command, command, on_output)

    async def memory_of(self, expression: str) -> Memory:
        """The memory that EXPRESSION names in the selected frame.  Raises NotInMemory."""
        answer = await self.gdb.execute(f"rdb-object {expression}")
        if answer.error is not None:
            raise NotInMemory(answer.error)
        raw = json.loads(answer.text.splitlines()[-1])
        return Memory(raw["address"], raw["size"], raw["type"])

    async def query_state(self, after: str | None = None) -> RankState:
        """The rank's state; AFTER: the command that has just ended, for the undo log."""
        said = "" if after is None else f" --command {after}"
        state = parse_state((await self._must(f"rdb-state --fast{said}")).text)
        if state.own is not None or (state.place.has_source and not in_header(state.place)):
            return state
        own = own_frame(await self.frames(_OWN_WITHIN))
        if own is None or own.level == 0:
            return state
        return replace(state, own=own.place)

    async def own_place(self) -> Place:
        """The user's own line at the position; if there is none, that of the library."""
        if self.state.own is not None:  # may also be a line of Python
            return self.state.own
        own = own_frame(await self.frames())
        return self.state.place if own is None else own.place

    async def refresh(self, after: str | None = None) -> None:
        """Reads the state again, after a move without a command of the user, or after the command
        AFTER was cancelled."""
        self._state = await self.query_state(after)

    def interrupt(self) -> None:
        self.gdb.interrupt()

    async def close(self) -> None:
        await self.gdb.close()

    async def _observed(
        self, command: str, shown: str, on_output: Callable[[str], None] | None = None
    ) -> RankAnswer:
        before = self._state
        answer = await self.gdb.execute(command, on_output=on_output)
        error = answer.error
        try:
            self._state = await self._state_after(shown)
        except RdbError as lost:
            error = error or lost.message
        return RankAnswer(as_typed(answer.text), error, before, self._state)

    async def _state_after(self, command: str) -> RankState:
        try:
            return await self.query_state(command)
        except RdbError:
            # A Ctrl-C for a command that has just ended may hit this query instead: ask again.
            return await self.query_state(command)

    async def _run_block(self, lines: str) -> RankAnswer:
        """Runs `commands`, `define` or `if` from a file: MI cannot pass their bodies."""
        with tempfile.NamedTemporaryFile("w", prefix="rdb-", suffix=".gdb") as file:
            file.write(lines + "\n")
            file.flush()
            answer = await self._observed(f"rdb-block {file.name}", lines.splitlines()[0])
        # The user does not know the file, but knows the line in the block.
        text = answer.text.replace(f"{file.name}:", "line ")
        if answer.error is None:
            return replace(answer, text=text)
        return replace(answer, text=text, error=answer.error.replace(f"{file.name}:", "line "))

    async def _connect(self, command: str) -> None:
        """Connects to the server.  If that fails, the RdbError has the server's exit code."""
        answer = await self.gdb.execute(command, _OPEN_TIMEOUT_S)
        if answer.error is None:
            return
        code = (await self.gdb.execute("output $_rdb_exit_code")).text.strip()
        raise RdbError(
            f"rank {self.rank}: {answer.error}",
            exit_code=int(code) if code.isdigit() and code != "0" else None,
        )

    async def _must(self, command: str) -> Answer:
        answer = await self.gdb.execute(command, _OPEN_TIMEOUT_S)
        if answer.error is not None:
            raise RdbError(f"rank {self.rank}: {answer.error}")
        return answer
