"""A few GDBs ("lookers") that look at all ranks which have no GDB of their own.

A looker turns from rank to rank (`rdb-look`).  A rank then costs a replica, which is cheap, but no
symbols, which are expensive.  A looker cannot write: a command that moves a rank or changes
something in it needs a GDB of the rank's own.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from rdb.errors import RdbError
from rdb.session.ending import side_by_side, to_its_end
from rdb.session.gdb import GdbProcess
from rdb.session.looking import Looking
from rdb.session.ranks import Rank
from rdb.session.stacks import in_header, own_frame
from rdb.session.state import RankState, parse_state
from rdb.undoing import on_failure_await

T = TypeVar("T")
_OPEN_TIMEOUT_S = 120.0
_OWN_WITHIN = 64  # frames that are searched for one of the user's own
_MOST = 4
_REFUSED = "is not allowed ("  # in GDB's error with `set may-write-memory off` (gdb/target.c)


class Unwilling(RdbError):
    """A looker was asked to change something."""


class OtherProgram(RdbError):
    """A rank runs another program than the one whose symbols the looker has."""


class Looker(Looking):
    """A GDB without the right to write; `open` makes it."""

    @classmethod
    async def open(cls, job: str, address: str) -> Looker:
        gdb = await GdbProcess.with_extension("the gdb that looks at ranks")
        looker = cls(gdb)
        async with on_failure_await(gdb.close):
            # Set before there is a process: afterwards GDB refuses.
            for what in ("memory", "registers"):
                await looker._must(f"set may-write-{what} off")
            await looker._must(f"rdb-open {shlex.quote(job)} {address}")
        return looker

    async def stand_in(self, address: str, where: str, fresh: bool = False) -> RankState:
        """Turns to a rank at position WHERE; FRESH: takes in what has been recorded since.

        Raises OtherProgram or RdbError.
        """
        said = await self._must(f"rdb-look {address} {where}{' fresh' if fresh else ''}", None)
        state = parse_state(said)
        if state.own is None and (not state.place.has_source or in_header(state.place)):
            own = own_frame(await self.frames(_OWN_WITHIN))
            if own is not None and own.level > 0:
                state = replace(state, own=own.place)
        return state

    async def _must(self, command: str, timeout_s: float | None = _OPEN_TIMEOUT_S) -> str:
        answer = await self.gdb.execute(command, timeout_s)
        if answer.error is not None:
            kind = OtherProgram if "runs another program" in answer.error else RdbError
            raise kind(answer.error)
        return answer.text

    async def _said(self, command: str) -> str:
        answer = await self.gdb.execute(command)
        if answer.error is None:
            return answer.text
        raise (Unwilling if _REFUSED in answer.error else RdbError)(answer.error)


class Lookers:
    """The lookers of a job, at most one for each processor.  Each has a fixed share of the
    ranks."""

    def __init__(self, job: str, address: Callable[[Rank], str]) -> None:
        self._job = job
        self._address = address
        self.count = min(os.cpu_count() or 1, _MOST)
        self._opened: dict[int, Looker] = {}
        self._locks = [asyncio.Lock() for _ in range(self.count)]
        self.states: dict[Rank, RankState] = {}
        """States of the ranks when a looker was there."""

    async def each(
        self,
        ranks: Iterable[Rank],
        where: Callable[[Rank], str],
        ask: Callable[[Looking], Awaitable[T]],
        fresh: bool = False,
    ) -> dict[Rank, T | RdbError]:
        """The answers of ASK, called for each rank at its position WHERE."""
        found: dict[Rank, T | RdbError] = {}

        async def share(number: int, mine: list[Rank]) -> None:
            async with self._locks[number]:
                for rank in mine:
                    try:
                        looker = await self._looker(number, rank)
                        self.states[rank] = await looker.stand_in(
                            self._address(rank), where(rank), fresh
                        )
                        found[rank] = await ask(looker)
                    except RdbError as error:
                        found[rank] = error

        shares: dict[int, list[Rank]] = {}
        for rank in ranks:
            shares.setdefault(rank % self.count, []).append(rank)
        await side_by_side(share(number, mine) for number, mine in shares.items())
        return found

    async def _looker(self, number: int, rank: Rank) -> Looker:
        known = self._opened.get(number)
        if known is None or not known.gdb.alive:
            known = await Looker.open(self._job, self._address(rank))
            self._opened[number] = known
        return known

    async def complete(self, text: str) -> list[str]:
        for number, looker in self._opened.items():
            if not self._locks[number].locked():
                async with self._locks[number]:
                    return await looker.complete(text)
        return []

    @property
    def busy(self) -> bool:
        return any(looker.gdb.busy for looker in self._opened.values())

    def interrupt(self) -> None:
        for looker in self._opened.values():
            looker.gdb.interrupt()

    @to_its_end
    async def close(self) -> None:
        opened = list(self._opened.values())
        self._opened.clear()
        await asyncio.gather(*(looker.gdb.close() for looker in opened))
