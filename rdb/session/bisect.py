"""Bisect over ranks: in which rank, where and when an expression first turned false.

Each rank is searched alone by the GDB extension (gdb_scripts/rdb_gdb/bisect.py).  What the ranks
answered is ordered by cause: what was passed on in messages comes after where it was made.  Of what
is independent the recorded wall-clock time says what to show first.
"""

from __future__ import annotations

import asyncio
import linecache
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from rdb.errors import RdbError
from rdb.recording.log.record import Receive
from rdb.recording.messages.messages import Messages
from rdb.session.causal_order import CausalOrder, causal_order
from rdb.session.cause import Sender, sender, writing_message
from rdb.session.debugger import RankAnswer, RankDebugger
from rdb.session.ending import side_by_side
from rdb.session.mi import json_answer
from rdb.session.ranks import Rank
from rdb.session.session import JobLike

_AT_ONCE = 2
_PROGRESS = re.compile(r"bisect: (\d+)%(?:, event \d+)?(?:; (.+))?")

Progress = Callable[[Rank, float, str], None]
"""Hears of a rank how far it is (0 to 1), and what is known before it ends."""


@dataclass(frozen=True)
class Message:
    """The message that wrote an operand, else the last one that the rank had received before."""

    source: Rank
    tag: int
    size_bytes: int
    event: int
    wrote: bool = False


@dataclass(frozen=True)
class Found:
    """A statement that made the expression false, and how that is known."""

    rank: Rank
    expression: str
    position: str
    event: int
    at_ns: int | None
    function: str | None
    file: str | None
    line: int | None
    """The statement of the user's program, which may have called a library: `inside`."""
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
    """Which variables the names in the expression mean: `s in nanp, nan.f90:5`."""
    undefined: int
    """At how many of the places that were looked at it had no value, and why."""
    why_undefined: str
    elements: tuple[str, ...] = ()
    """Of arrays, that made it false first: `density(3,7) = NaN`."""
    operands: tuple[tuple[int, int], ...] = ()
    """(address, length) of what the expression reads just before it."""
    message: str | None = None
    """How the message came that wrote an operand."""
    sender: Sender | None = None
    sender_unknown: str | None = None
    """Why it is not known who sent that."""


@dataclass(frozen=True)
class NotFound:
    """Why a rank has no such statement, or why that is not known."""

    rank: Rank
    reason: str
    unknown: bool
    """The search could not be made, or not to its end."""


class _Nowhere(RdbError):
    """The search has ended and found nothing."""


@dataclass(frozen=True)
class Report:
    """Answers of all ranks that were asked, in causal order."""

    found: tuple[Found, ...]
    not_found: tuple[NotFound, ...]
    first: tuple[Rank, ...] = ()
    """Ranks in which it was found and before which it was in no other: the first in causal order,
    independent of each other if they are several."""
    order_unknown: str | None = None
    """Why that is not known; the recorded time orders the answers then."""
    interrupted: bool = False
    """What the answers say was known by then."""

    @property
    def unknown(self) -> tuple[Rank, ...]:
        """Ranks that were not searched to the end: it may have turned false there, too."""
        return tuple(one.rank for one in self.not_found if one.unknown)


class Interrupt:
    """Ends the searches under way with what they know."""

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
    job: JobLike,
    expression: str,
    ranks: Sequence[Rank],
    last: bool = False,
    progress: Progress | None = None,
    script: Path | None = None,
    options: str = "",
    jobs: int | None = None,
    interrupt: Interrupt | None = None,
) -> Report:
    """Searches RANKS, on all cores or with so many JOBS.

    OPTIONS are more of those that the extension's command takes.
    """
    interrupt = interrupt or Interrupt()
    messages = Messages(job)  # of all ranks that are searched: each log is read once
    cores = jobs or len(os.sched_getaffinity(0))
    slots = asyncio.Semaphore(jobs or max(cores, _AT_ONCE))
    each = max(cores // max(len(ranks), 1), 1)  # what is left for each rank
    options = f"--json --progress --jobs {each} {'--last' if last else ''} {options}"

    async def one(rank: Rank) -> Found | NotFound:
        async with slots:
            try:
                if interrupt.pressed:
                    raise RdbError("Interrupted; nothing is known yet.")
                answer: Found | NotFound = await _search(
                    job, messages, expression, rank, options, progress, script, interrupt
                )
            except RdbError as error:
                answer = NotFound(rank, error.message, not isinstance(error, _Nowhere))
        if progress is not None:
            progress(rank, 1.0, "")
        return answer

    answers = await side_by_side(map(one, ranks))
    found = [answer for answer in answers if isinstance(answer, Found)]
    order = CausalOrder({one.rank: 0 for one in found})
    if len(found) > 1:  # reads all logs
        order = causal_order(messages, {one.rank: _event(one) for one in found})
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
    )


def _event(found: Found) -> int:
    """The event after whose answer it was false."""
    return found.event if found.by_event is None else found.by_event


async def _search(
    job: JobLike,
    messages: Messages,
    expression: str,
    rank: Rank,
    options: str,
    progress: Progress | None,
    script: Path | None,
    interrupt: Interrupt,
) -> Found:
    def heard(text: str) -> None:
        shares = _PROGRESS.findall(text)
        if shares and progress is not None:
            share, so_far = shares[-1]
            progress(rank, int(share) / 100, so_far)

    debugger = await RankDebugger.open(
        str(job.path), rank, script=script, address=job.address(rank)
    )
    try:
        answer = await interrupt.run(debugger, f"bisect {options} {expression}", heard)
        if answer.error is not None:
            raise RdbError(answer.error)
        raw = json_answer("bisect", answer.text)
        if "refused" in raw:
            raise _Nowhere(raw["refused"])
        found = parse_found(rank, raw)
        own = debugger.state.own
        if own is not None:  # the search left the rank just before the change
            found = replace(
                found, function=own.function, file=own.file, line=own.line, inside=found.function
            )
        source_line = await _source_line(debugger, found)
        if found.by_event is not None:
            found = await _with_message(found, job, messages, script)
    finally:
        await debugger.close()
    return replace(found, source_line=source_line, at_ns=_recorded_ns(job, rank, found))


async def _with_message(
    found: Found, job: JobLike, messages: Messages, script: Path | None
) -> Found:
    """Adds the message that wrote an operand, and who sent it."""
    assert found.by_event is not None
    came = writing_message(messages, found.rank, found.by_event, found.operands)
    if came is None:
        return found
    receive = None if came.received is None else _message(came.received)
    found = replace(found, message=came.how, receive=receive)
    try:
        return replace(found, sender=await sender(job, messages, found.rank, came, script))
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
    """The extension's JSON."""
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
        elements=tuple(raw["elements"]),
        operands=tuple((address, length) for address, length in raw["operands"]),
        undefined=raw["undefined"],
        why_undefined=raw["why_undefined"],
    )


def _recorded_ns(job: JobLike, rank: Rank, found: Found) -> int | None:
    """When the change happened while recording: at its event, or after the event before it."""
    event = _event(found)
    record = next(iter(job.rank(rank).records(event, event)), None)
    return None if record is None else record.at_ns
