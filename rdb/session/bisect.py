"""Bisect over ranks: in which rank, where and when an expression first turned false.

The GDB extension searches each rank by itself (gdb_scripts/rdb_gdb/commands/bisect.py).  The
answers are put in causal order: a value that came by message follows its origin.  Independent
answers are ordered by recorded wall-clock time.
"""

from __future__ import annotations

import asyncio
import linecache
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.recording.log.record import Receive
from rdb.recording.messages.messages import Messages
from rdb.session.causal_order import CausalOrder, causal_order
from rdb.session.cause import Sender, sender, writing_message
from rdb.session.debugger import RankAnswer, RankDebugger
from rdb.session.ending import side_by_side
from rdb.session.mi import json_answer
from rdb.session.ranks import Rank
from rdb.session.starts import Starts

_AT_ONCE = 2
_PROGRESS = re.compile(r"bisect: (\d+)%(?:, event \d+)?(?:; (.+))?")

Progress = Callable[[Rank, float, str], None]
"""Called with the rank, the finished part (0 to 1), and a text with what is known so far."""


@dataclass(frozen=True)
class Message:
    """The message that wrote an operand (`wrote`), else the last one received before."""

    source: Rank
    tag: int
    size_bytes: int
    event: int
    wrote: bool = False


@dataclass(frozen=True)
class Found:
    """A statement that made the expression false, with the evidence."""

    rank: Rank
    expression: str
    position: str
    event: int
    at_ns: int | None
    function: str | None
    file: str | None
    line: int | None
    """The user's statement; it may have called a library, then `inside` is the function there."""
    source_line: str | None
    inside: str | None
    stack: tuple[str, ...]
    before: str | None
    after: str | None
    written_by: str
    by_event: int | None
    receive: Message | None
    verified_before: bool
    verified_after: bool
    undefined_between: bool
    variables: str
    """The variables that the names in the expression mean: `s in nanp, nan.f90:5`."""
    bound: str
    """The same text in each rank in which the names mean the same variables."""
    undefined: int
    """At how many examined positions it had no value; `why_undefined`: why."""
    why_undefined: str
    earlier: str | None = None
    """A text: it was false before it was true."""
    again: int | None = None
    """A later event at which it is true."""
    before_it: str | None = None
    """A text: at which events before the statement it was found to be not false."""
    elements: tuple[str, ...] = ()
    """Array elements that made it false: `density(3,7) = NaN`."""
    operands: tuple[tuple[int, int], ...] = ()
    """(address, length) of the memory that the expression reads just before the statement."""
    message: str | None = None
    """How the message that wrote an operand came."""
    sender: Sender | None = None
    sender_unknown: str | None = None
    """Why the sender is not known."""


@dataclass(frozen=True)
class NotFound:
    """Why a rank has no such statement, or why it is not known (`unknown`)."""

    rank: Rank
    reason: str
    unknown: bool
    """The search failed, or did not reach its end."""
    bound: str = ""
    """As in Found."""
    meaningless: bool = False
    """The program has nothing of a name in the expression."""


class _Nowhere(RdbError):
    """The search has ended and found nothing."""

    bound = ""
    meaningless = False


@dataclass(frozen=True)
class Report:
    """Answers of all ranks that were asked, in causal order."""

    found: tuple[Found, ...]
    not_found: tuple[NotFound, ...]
    first: tuple[Rank, ...] = ()
    """Ranks in which it was found and before which it was found in no other rank: the first in
    causal order.  Several such ranks are independent of each other, unless it came to them
    `together`."""
    order_unknown: str | None = None
    """Why the causal order is not known; the answers are then in order of recorded time."""
    interrupted: bool = False
    """The user has interrupted the search; the answers are what was known by then."""
    together: str | None = None
    """The collective that made it false in all of `first`; None: they are independent."""

    @property
    def unknown(self) -> tuple[Rank, ...]:
        """Ranks whose search did not end: it may have turned false there, too."""
        return tuple(one.rank for one in self.not_found if one.unknown)


class Interrupt:
    """Ends the searches under way; they answer with what they know."""

    def __init__(self) -> None:
        self.pressed = False
        self._under_way: set[RankDebugger] = set()

    def press(self) -> None:
        self.pressed = True
        for debugger in self._under_way:
            debugger.interrupt()

    async def run(
        self, debugger: RankDebugger, command: str, on_output: Callable[[str], None]
    ) -> RankAnswer:
        if self.pressed:
            raise RdbError("Interrupted; nothing is known yet.")
        self._under_way.add(debugger)
        try:
            return await debugger.run(command, on_output=on_output)
        finally:
            self._under_way.remove(debugger)


async def bisect(
    job: Job,
    expression: str,
    ranks: Sequence[Rank],
    last: bool = False,
    progress: Progress | None = None,
    options: str = "",
    jobs: int | None = None,
    interrupt: Interrupt | None = None,
) -> Report:
    """Searches RANKS with JOBS replicas at a time (None: one for each processor).

    OPTIONS: further options of the extension's command.  A rank that cannot be searched is in
    `not_found`.
    """
    interrupt = interrupt or Interrupt()
    messages = Messages(job)  # shared by all ranks: each log is read once
    cores = jobs or len(os.sched_getaffinity(0))
    slots = asyncio.Semaphore(jobs or max(cores, _AT_ONCE))
    each = max(cores // max(len(ranks), 1), 1)  # processors for each rank
    options = f"--json --progress --jobs {each} {'--last' if last else ''} {options}"
    # Else each GDB has a processor for reading the symbols.
    starts = Starts(job, at_end=True, forks=len(ranks) > cores)

    async def one(rank: Rank) -> Found | NotFound:
        async with slots:
            try:
                if interrupt.pressed:
                    raise RdbError("Interrupted; nothing is known yet.")
                answer: Found | NotFound = await _search(
                    job, messages, starts, expression, rank, options, progress, interrupt
                )
            except RdbError as error:
                answer = NotFound(rank, error.message, True)
                if isinstance(error, _Nowhere):
                    answer = NotFound(rank, error.message, False, error.bound, error.meaningless)
        if progress is not None:
            progress(rank, 1.0, "")
        return answer

    try:
        answers = await side_by_side(map(one, ranks))
    finally:
        await starts.close()
    found = [answer for answer in answers if isinstance(answer, Found)]
    order = CausalOrder({one.rank: 0 for one in found})
    if len(found) > 1:  # reads all logs
        brought = [one.rank for one in found if one.by_event is not None]
        order = causal_order(messages, {one.rank: _event(one) for one in found}, brought)
    found.sort(
        key=lambda one: (
            order.depths.get(one.rank, 0), one.at_ns is None, one.at_ns or 0, one.rank
        )
    )  # fmt: skip
    return Report(
        tuple(found),
        tuple(answer for answer in answers if isinstance(answer, NotFound)),
        order.first or tuple(one.rank for one in found[:1]),
        order.unknown,
        interrupt.pressed,
        order.together,
    )


def _event(found: Found) -> int:
    """The event after whose answer the expression was false."""
    return found.event if found.by_event is None else found.by_event


async def _search(
    job: Job,
    messages: Messages,
    starts: Starts,
    expression: str,
    rank: Rank,
    options: str,
    progress: Progress | None,
    interrupt: Interrupt,
) -> Found:
    def heard(text: str) -> None:
        shares = _PROGRESS.findall(text)
        if shares and progress is not None:
            share, so_far = shares[-1]
            progress(rank, int(share) / 100, so_far)

    debugger = await starts.open(rank)
    try:
        answer = await interrupt.run(debugger, f"bisect {options} {expression}", heard)
        if answer.error is not None:
            raise RdbError(answer.error)
        raw = json_answer("bisect", answer.text)
        if "refused" in raw:
            nowhere = _Nowhere(raw["refused"])
            nowhere.bound, nowhere.meaningless = raw["bound"], raw["meaningless"]
            raise nowhere
        found = parse_found(rank, raw)
        own = debugger.state.own
        if own is not None:  # the rank is just before the change
            found = replace(
                found, function=own.function, file=own.file, line=own.line, inside=found.function
            )
        source_line = await _source_line(debugger, found)
        if found.by_event is not None:
            found = await _with_message(found, job, messages)
    finally:
        await debugger.close()
    return replace(found, source_line=source_line, at_ns=_recorded_ns(job, rank, found))


async def _with_message(found: Found, job: Job, messages: Messages) -> Found:
    """Adds the message that wrote an operand, and its sender."""
    assert found.by_event is not None
    came = writing_message(messages, found.rank, found.by_event, found.operands)
    if came is None:
        return found
    receive = None if came.received is None else _message(came.received)
    found = replace(found, message=came.how, receive=receive)
    try:
        return replace(found, sender=await sender(job, messages, found.rank, came))
    except RdbError as error:
        return replace(found, sender_unknown=error.message)


def _message(receive: Receive) -> Message:
    return Message(receive.source, receive.tag, receive.size_bytes, receive.event, wrote=True)


async def _source_line(debugger: RankDebugger, found: Found) -> str | None:
    """The text of the line, if GDB has the source here."""
    if found.file is None or found.line is None:
        return None
    if PurePath(found.file).suffix == ".py":
        return linecache.getline(found.file, found.line).strip() or None
    answer = await debugger.gdb.execute(f'list "{found.file}":{found.line},{found.line}')
    number, _, text = answer.text.strip().partition("\t")
    # Without the source GDB prints `28  in heat.c` or `28  heat.c: No such file or directory.`
    name = PurePath(found.file).name
    missing = text.startswith("in ") or f"{name}: No such file" in text
    return text.strip() if answer.ok and number == str(found.line) and not missing else None


def parse_found(rank: Rank, raw: dict[str, Any]) -> Found:
    """Converts the extension's JSON."""
    message = raw.get("receive")
    return Found(
        rank=rank,
        expression=raw["expression"],
        position=raw["position"],
        event=raw["event"],
        at_ns=None,
        function=raw.get("function"),
        file=raw.get("file"),
        line=raw.get("line"),
        source_line=None,
        inside=None,
        stack=tuple(raw.get("stack", ())),
        before=raw.get("before"),
        after=raw.get("after"),
        written_by=raw["written_by"],
        by_event=raw.get("by_event"),
        receive=None
        if message is None
        else Message(
            message["source"],
            message["tag"],
            message["size_bytes"],
            message["event"],
            wrote=bool(raw.get("receive_wrote")),
        ),
        verified_before=raw["before_true"],
        verified_after=raw["after_false"],
        undefined_between=bool(raw.get("gap")),
        variables=raw["variables"],
        bound=raw["bound"],
        elements=tuple(raw["elements"]),
        operands=tuple((address, length) for address, length in raw["operands"]),
        earlier=raw["earlier"],
        again=raw["again"],
        before_it=raw["before_it"],
        undefined=raw["undefined"],
        why_undefined=raw["why_undefined"],
    )


def _recorded_ns(job: Job, rank: Rank, found: Found) -> int | None:
    """Recorded time of the change: that of its event, or of the event before it; None: not
    known."""
    event = _event(found)
    record = next(iter(job.rank(rank).records(event, event)), None)
    return None if record is None else record.at_ns
