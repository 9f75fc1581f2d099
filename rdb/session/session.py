"""All ranks of a job under debug.

A rank has a GDB of its own.  If few ranks come into focus, their GDBs are started at once.  If many
do, a GDB is forked from one that has read the symbols (`template`) when a command needs it; until
then a few GDBs look at all ranks (`lookers`).  A command goes to the ranks in focus in parallel.
Nothing is printed here: answers come back by rank, and `merge` groups equal ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, TypeVar

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.session.away import Away, most_gdbs
from rdb.session.debugger import RankAnswer, RankDebugger
from rdb.session.ending import side_by_side, to_its_end
from rdb.session.history import CommandLog, Entry, RankSets
from rdb.session.live import Live
from rdb.session.lookers import Lookers, OtherProgram
from rdb.session.looking import Looking
from rdb.session.merge import Group, merge
from rdb.session.ranks import Rank, format_ranks
from rdb.session.stacks import Frame
from rdb.session.starts import Starts
from rdb.session.state import RankState
from rdb.undoing import on_failure_await

T = TypeVar("T")
FEW = 4  # ranks whose GDBs are started before they are needed


class Outcome(NamedTuple):
    """The result of a command: answers by rank."""

    answers: Mapping[Rank, RankAnswer]
    entry: Entry | None = None

    @property
    def ok(self) -> bool:
        return all(answer.ok for answer in self.answers.values())

    @property
    def moved(self) -> tuple[Rank, ...]:
        return tuple(sorted(rank for rank, answer in self.answers.items() if answer.moved))

    def groups(self) -> list[Group[RankAnswer]]:
        return merge(self.answers, key=lambda answer: (answer.text, answer.error))


@dataclass(frozen=True)
class Travelled:
    """The result of undo (VERB "undid") or redo: the commands in order, the states of the ranks."""

    verb: str
    entries: list[Entry]
    states: Mapping[Rank, RankState]
    asked: int = 1
    errors: Mapping[Rank, str] = field(default_factory=dict)
    notes: Mapping[Rank, str] = field(default_factory=dict)
    """Messages about breakpoints that now have other numbers."""


class Session:
    """Ranks, focus, history.  An async context manager; its end ends every process.

    Raises RdbError for a job without a recorded rank.
    """

    def __init__(self, job: Job, at_end: bool = True) -> None:
        self.job = job
        self.log = CommandLog()
        self.failed: dict[Rank, str] = {}
        """Ranks that could not be opened, and why."""
        self._failed_codes: dict[Rank, int] = {}
        self.on_progress: Callable[[Rank, str], None] | None = None
        """Called with the rank and a text about the progress of a long search."""
        self.interrupts = 0
        """How often `interrupt` was called."""
        self._at_end = at_end
        self._known = tuple(job.ranks)
        self._focus: tuple[Rank, ...] = ()
        self._debuggers: dict[Rank, RankDebugger] = {}
        self._starts = Starts(job, at_end, forks=len(self._known) > FEW)
        self._opening: set[asyncio.Task[RankDebugger]] = set()
        self._lookers = Lookers(str(job.path), job.address)
        self._preparing: asyncio.Task[object] | None = None
        self._away = Away()
        self.lost: dict[Rank, str] = {}
        """Rank -> what was lost when its GDB was put away, until it is shown to the user."""
        self.live = Live(job)
        self.sets: RankSets = {}
        """Sets of ranks by name."""
        if not self._known:
            raise RdbError(f"{job.name} has no recorded rank", "did the program start?")

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return self._known

    @property
    def focus(self) -> tuple[Rank, ...]:
        return self._focus

    @property
    def states(self) -> dict[Rank, RankState]:
        """The state of every rank that has been opened or looked at."""
        states = {**self._lookers.states, **self._away.states}
        states.update({rank: one.state for rank, one in self._debuggers.items()})
        return dict(sorted(states.items()))

    def short(self, rank: Rank) -> str | None:
        """Why a rank was opened at its start instead of its end; None: it was not."""
        debugger = self._debuggers.get(rank)
        return debugger.short if debugger is not None else None

    def lost_of(self, rank: Rank) -> tuple[str, ...]:
        """Parts of a rank's recording that cannot be shown, as far as known."""
        short, state = self.short(rank), self.states.get(rank)
        return (*(() if short is None else (short,)), *(state.lost if state is not None else ()))

    def point(self, rank: Rank) -> str:
        """Position of a rank: `start`, `end`, `after 3` or an event."""
        state = self.states.get(rank)
        if state is not None:
            return state.point
        return "end" if self._at_end else "start"

    def _where(self, rank: Rank) -> str:
        """Position of a rank for a looker."""
        state = self._away.states.get(rank)
        if state is not None and not (state.at_end if self._at_end else state.at_start):
            return state.position
        return "END" if self._at_end else "START"

    @property
    def waiting(self) -> tuple[Rank, ...]:
        """The ranks in focus that have no GDB of their own."""
        return tuple(rank for rank in self._focus if rank not in self._debuggers)

    @property
    def many_waiting(self) -> bool:
        """Are there too many of them to start GDBs only to look at something?"""
        return len(self.waiting) > FEW

    async def open(self, ranks: Iterable[Rank]) -> None:
        """Starts the missing GDBs of RANKS; a rank that fails goes to `failed`."""
        missing = [rank for rank in ranks if rank not in self._debuggers]
        tasks = [asyncio.create_task(self._open(rank)) for rank in missing]
        self._opening.update(tasks)
        try:
            results = await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        finally:
            self._opening.difference_update(tasks)
        for rank, result in zip(missing, results, strict=True):
            if isinstance(result, RdbError):
                self.failed[rank] = result.message
                self._failed_codes[rank] = result.exit_code
            elif isinstance(result, BaseException):
                raise result
            else:
                self.failed.pop(rank, None)

    async def _open(self, rank: Rank) -> RankDebugger:
        debugger = await self._starts.open(rank)
        async with on_failure_await(debugger.close):
            lost = await self._away.back(debugger)
        if lost is not None:
            self.lost[rank] = lost
        debugger.gdb.on_progress = lambda text: self._heard(rank, text)
        self._debuggers[rank] = debugger
        return debugger

    async def debugger(self, rank: Rank) -> RankDebugger:
        """The GDB of RANK, started if needed.  Raises RdbError if it cannot be opened."""
        await self.open([rank])
        if rank not in self._debuggers:
            raise RdbError(f"rank {rank}: {self.failed.get(rank, 'cannot be opened')}")
        return self._debuggers[rank]

    def _heard(self, rank: Rank, text: str) -> None:
        if self.on_progress is not None:
            self.on_progress(rank, text)

    async def set_focus(self, ranks: Sequence[Rank], text: str | None = None) -> tuple[Rank, ...]:
        """Focuses those of RANKS that can be opened; TEXT: the command for the log.

        If more than FEW ranks need a GDB, these start when a command needs them.  Raises RdbError
        if no rank can be opened.
        """
        usable = tuple(sorted(ranks))
        if sum(rank not in self._debuggers for rank in ranks) <= FEW:
            await self.open(ranks)
            usable = tuple(rank for rank in usable if rank in self._debuggers)
        if not usable:
            reason = self.failed[min(ranks)].removeprefix(f"rank {min(ranks)}: rdb: ")
            raise RdbError(
                f"cannot open {format_ranks(ranks)}; rank {min(ranks)}: {reason}",
                exit_code=self._failed_codes[min(ranks)],
            )
        before, self._focus = self._focus, usable
        if text is not None:
            self.log.add(text, {}, before, usable)
        return usable

    def set_sets(self, sets: RankSets, text: str) -> None:
        """Replaces the named sets of ranks; TEXT: the command for the log."""
        before, self.sets = self.sets, dict(sets)
        self.log.add(text, {}, self._focus, self._focus, (before, self.sets))

    async def run(self, command: str, text: str | None = None) -> Outcome:
        """Runs a GDB command in all ranks in focus; TEXT: the command for the log."""
        await self.open(self._focus)
        before = {rank: one.state for rank, one in self._debuggers.items() if rank in self._focus}
        try:
            answers = await self._gather(self._focus, lambda rank: rank.run(command))
        except asyncio.CancelledError:
            answers = await self._broken_off(before, command)
        entry = self.log.add(text or command, answers, self._focus, self._focus)
        return Outcome(answers, entry)

    async def _broken_off(
        self, before: Mapping[Rank, RankState], command: str
    ) -> dict[Rank, RankAnswer]:
        """The answers if COMMAND was cancelled; some ranks may have moved by then."""

        async def where(rank: Rank, state: RankState) -> RankAnswer:
            debugger, error = self._debuggers[rank], "Interrupted."
            try:
                await debugger.refresh(command.splitlines()[0])
            except RdbError as lost:
                error = lost.message
            return RankAnswer("", error, state, debugger.state)

        found = await side_by_side(where(*one) for one in before.items())
        return dict(zip(before, found, strict=True))

    async def undo(self, count: int = 1) -> Travelled:
        """Takes back the last COUNT commands that changed something, in their ranks.

        Raises RdbError if there is none.
        """
        return await self._travel(count, forward=False)

    async def redo(self, count: int = 1) -> Travelled:
        """Does again what undo took back.  Raises RdbError if there is nothing."""
        return await self._travel(count, forward=True)

    async def _travel(self, count: int, forward: bool) -> Travelled:
        entries: list[Entry] = []
        goal: dict[Rank, int] = {}
        done, sets = len(self.log.done), self.sets
        while len(entries) < count:
            entry = self.log.forward() if forward else self.log.back()
            if entry is None:
                break
            entries.append(entry)
            if entry.sets is not None:
                self.sets = entry.sets[1 if forward else 0]
            for rank, visit in entry.visits.items():
                length = visit.length(after=forward)
                if visit.steps and length is not None:
                    goal[rank] = length
        if not entries:
            raise RdbError("nothing to redo" if forward else "nothing to undo")
        commands: dict[Rank, str] = {}
        try:
            await self.open(goal)
            for rank, length in goal.items():
                if rank not in self._debuggers:
                    continue
                # Computed from the log of the rank's own GDB: undo out of a branch takes back more
                # there than asked for, and that must not be taken back again.
                number = length - self._debuggers[rank].state.history
                if number:
                    commands[rank] = f"redo {number}" if number > 0 else f"undo {-number}"
            answers = await self._gather(commands, lambda rank: rank.run(commands[rank.rank]))
        except BaseException:
            # Asked again, it moves the ranks that this one has not moved.
            self.log.return_to(done)
            self.sets = sets
            before = {rank: self._debuggers[rank].state for rank in commands}
            await self._broken_off(before, "redo" if forward else "undo")
            raise
        self._focus = entries[-1].focus_after if forward else entries[-1].focus_before
        return Travelled(
            "redid" if forward else "undid",
            entries,
            {
                rank: self._debuggers[rank].state
                for rank in {*commands, *self._focus}
                if rank in self._debuggers
            },
            count,
            {rank: answer.error for rank, answer in answers.items() if answer.error},
            {rank: said for rank, one in answers.items() if (said := _renumbered(one.text))},
        )

    async def ask(self, command: str) -> Outcome:
        """Runs a command with the same answer in every rank in one of them; it is not logged."""
        known = [rank for rank in self._focus if rank in self._debuggers]
        if not known:
            await self.open(self._focus[:1])
        known = known[:1] or list(self._focus[:1])
        return Outcome(await self._gather(known, lambda rank: rank.run(command)))

    async def look(
        self, ask: Callable[[Looking], Awaitable[T]], ranks: Sequence[Rank] | None = None
    ) -> dict[Rank, T | RdbError]:
        """The answers of ASK, which changes nothing, for RANKS or the ranks in focus.

        A rank with a GDB of its own is asked there, the others by lookers.
        """
        chosen = self._focus if ranks is None else ranks
        found: dict[Rank, T | RdbError] = {}

        async def own(rank: Rank) -> None:
            try:
                found[rank] = await ask(self._debuggers[rank])
            except RdbError as error:
                found[rank] = error

        await side_by_side(own(rank) for rank in chosen if rank in self._debuggers)
        rest = [rank for rank in chosen if rank not in self._debuggers]
        found.update(await self._lookers.each(rest, self._where, ask))
        strange = [rank for rank in rest if isinstance(found[rank], OtherProgram)]
        if strange:
            await self.open(strange)
            await side_by_side(own(rank) for rank in strange if rank in self._debuggers)
        return {rank: found[rank] for rank in sorted(found)}

    async def trim(self) -> None:
        """Between commands: puts GDBs of ranks out of focus away if memory is short."""
        self._away.used(self._focus)
        idle = [rank for rank in self._debuggers if rank not in self._focus]
        surplus = len(self._debuggers) - most_gdbs(len(self._debuggers)) if idle else 0
        for rank in self._away.idle(idle):
            if surplus <= 0:
                return
            if await self._away.put(self._debuggers[rank]):
                await self._debuggers.pop(rank).close()
                surplus -= 1

    def prepare(self) -> None:
        """Starts the lookers and the template in the background, before the first command."""
        if self._preparing is None and self.many_waiting:
            self._preparing = asyncio.create_task(self._prepare(self.waiting))

    async def _prepare(self, ranks: Sequence[Rank]) -> None:
        await self._lookers.each(ranks[: self._lookers.count], self._where, _nothing)
        await self._starts.prepare(ranks[0])

    async def to_newest(
        self, ranks: Sequence[Rank]
    ) -> tuple[dict[Rank, RankAnswer], dict[Rank, str]]:
        """Reads the recordings of RANKS, which are in focus, again and goes to their ends.

        Returns the answers of ranks with GDBs of their own, and rank -> "" or the error.  It is not
        logged.  Ranks without a GDB are always at the end.
        """
        if len(self.waiting) <= FEW:
            await self.open(self._focus)
        await self.open(rank for rank in ranks if rank in self._away.states)
        waiting = [rank for rank in self.waiting if rank in ranks]
        answers = await self._gather(
            [rank for rank in ranks if rank not in waiting], lambda rank: rank.run("follow")
        )
        said = {rank: answer.error or "" for rank, answer in answers.items()}
        found = await self._lookers.each(waiting, lambda rank: "END", _nothing, fresh=True)
        for rank, one in found.items():
            said[rank] = one.message if isinstance(one, RdbError) else ""
        return answers, said

    async def stacks(
        self, limit: int | None = None, ranks: Sequence[Rank] | None = None
    ) -> dict[Rank, list[Frame]]:
        """Backtraces of RANKS, or of the ranks in focus, innermost frame first.  Raises
        RdbError."""
        found = await self.look(lambda gdb: gdb.frames(limit), ranks)
        for answer in found.values():
            if isinstance(answer, RdbError):
                raise answer
        return {rank: one for rank, one in found.items() if not isinstance(one, RdbError)}

    async def complete(self, text: str) -> list[str]:
        """GDB's completions of TEXT, by the lowest rank in focus that is not busy."""
        for rank in self._focus:
            if rank in self._debuggers and not self._debuggers[rank].gdb.busy:
                return await self._debuggers[rank].complete(text)
        return await self._lookers.complete(text)

    @property
    def busy(self) -> bool:
        """Is a command under way in any rank?"""
        return self._lookers.busy or any(one.gdb.busy for one in self._debuggers.values())

    def interrupt(self) -> None:
        """Stops the commands under way in all ranks; they answer as interrupted."""
        self.interrupts += 1
        self._lookers.interrupt()
        for debugger in self._debuggers.values():
            debugger.interrupt()

    @to_its_end
    async def close(self) -> None:
        self.live.close()
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.gather(self._preparing, return_exceptions=True)
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        debuggers = list(self._debuggers.values())
        self._debuggers.clear()
        await asyncio.gather(self._lookers.close(), *(debugger.close() for debugger in debuggers))
        await self._starts.close()
        self._away.close()

    async def _gather(
        self, ranks: Iterable[Rank], action: Callable[[RankDebugger], Awaitable[RankAnswer]]
    ) -> dict[Rank, RankAnswer]:
        async def one(rank: Rank) -> RankAnswer:
            debugger = self._debuggers.get(rank)
            if debugger is None:
                return RankAnswer("", self.failed.get(rank, "cannot be opened"), None, None)
            try:
                return await action(debugger)
            except RdbError as error:  # this rank's GDB is gone; the others answer
                said = f"{error.message}; {error.hint}" if error.hint else error.message
                return RankAnswer("", said, debugger.state, None)

        chosen = list(ranks)
        answers = await side_by_side(map(one, chosen))
        return dict(zip(chosen, answers, strict=True))


def _renumbered(text: str) -> str:
    """The lines of `undo` about breakpoints with new numbers (state/points.py)."""
    told = ("is back (it was ", "cannot be set again here")
    return "\n".join(line for line in text.splitlines() if any(one in line for one in told))


async def _nothing(gdb: Looking) -> None:
    """Asks nothing: turning to the rank is enough to know its state."""
