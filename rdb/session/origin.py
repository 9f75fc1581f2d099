"""The origin of a value: back through writes and messages to the computation that made it.

In a rank, `last` finds the write.  If a receive wrote the value, the logs tell which send of which
rank that was.  The search goes on there with the bytes that were sent, until something other than a
message wrote them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rdb.errors import RdbError
from rdb.recording.messages.messages import Messages
from rdb.session.debugger import RankAnswer, RankDebugger
from rdb.session.mi import json_answer
from rdb.session.ranks import Rank
from rdb.session.session import Session

_BY_EVENT = re.compile(r"^Changed by event (\d+): (.*)$", re.MULTILINE)
_NOW = re.compile(r"^Now = (.*)$", re.MULTILINE)
_UNSURE = "An equal value may have been stored later."
_UNCHANGED = "has not changed since the start"
_HOPS = 64
_WHOLE = {1: "char", 2: "short", 4: "int", 8: "long"}


@dataclass(frozen=True)
class Hop:
    """One write on the way back: position, value, and how the value came there."""

    rank: Rank
    position: str
    event: int
    function: str | None
    file: str | None
    line: int | None
    expression: str
    value: str
    how: str


@dataclass(frozen=True)
class Origin:
    """The writes on the way back, and why the search ended."""

    hops: tuple[Hop, ...]
    end: str


@dataclass(frozen=True)
class _Object:
    """Bytes of a rank's memory, with a name that GDB understands there."""

    name: str
    type: str
    address: int
    size: int


async def origin(session: Session, expression: str) -> Origin:
    """Follows EXPRESSION from the one rank in focus.  The focus moves along, as one command.

    Raises RdbError if several ranks are in focus, or if a search fails.
    """
    if len(session.focus) != 1:
        raise RdbError("origin starts in one rank, but several are in focus", "focus RANK")
    focus = session.focus
    walk = _Walk(session, expression)
    try:
        return await walk.go(focus[0])
    finally:
        await session.set_focus([walk.rank if walk.rank is not None else focus[0]])
        session.log.add(f"origin {expression}", walk.answers, focus, session.focus)


class _Walk:
    def __init__(self, session: Session, expression: str) -> None:
        self.answers: dict[Rank, RankAnswer] = {}
        self.rank: Rank | None = None
        self._session = session
        self._expression = expression
        self._messages = Messages(session.job)
        self._hops: list[Hop] = []

    async def go(self, rank: Rank) -> Origin:
        goal: _Object | None = None
        while len(self._hops) < _HOPS:
            self.rank = rank
            debugger = await self._session.debugger(rank)
            if goal is None:
                goal = await _object(debugger, self._expression)
            answer = await self._run(debugger, f"last {goal.name} --stores")
            if _UNCHANGED in answer.text:
                return self._end(f"{goal.name} has had this value since the start of the recording")
            by = _BY_EVENT.search(answer.text)
            hop = await self._hop(debugger, goal, answer)
            if _UNSURE in answer.text:
                hop = replace(hop, how=", or an equal value was stored later")
            if by is None:
                goal = await self._loaded(debugger, goal, hop)
                if goal is None:
                    return self._end("")
                continue
            came = self._messages.came(rank, int(by[1]), goal.address, goal.size)
            if came is None:
                self._hops.append(replace(hop, how=by[2] + hop.how))
                return self._end("")
            self._hops.append(replace(hop, how=came.how + hop.how))
            try:
                send = self._messages.sent(rank, came)
            except RdbError as unknown:
                return self._end(f"the send is not known: {unknown.message}")
            rank = self.rank = send.rank
            debugger = await self._session.debugger(rank)
            answer = await self._run(debugger, f"goto {send.event}")
            self._hops.append(
                replace(await self._hop(debugger, goal, answer), how="sent", value="")
            )
            if not send.address:
                return self._end(
                    f"rank {rank} sent it at event {send.event}, from a non-contiguous buffer"
                )
            address = send.address + came.offset
            goal = _Object(f"{{{goal.type}}} {address:#x}", goal.type, address, goal.size)
        return self._end(f"stopped after {_HOPS} messages and copies")

    async def _loaded(self, debugger: RankDebugger, goal: _Object, hop: Hop) -> _Object | None:
        """The object from which the value was copied, directly or by a return; None: none."""
        answer = await self._run(debugger, f"rdb-source {goal.address:#x} {goal.size}")
        source = json_answer("rdb-source", answer.text)
        if not source:
            self._hops.append(replace(hop, how="computed" + hop.how))
            return None
        function, memory, event = source["function"], source["memory"], source["event"]
        passed = ", ".join(f"passed to {one}" for one in source["passed"])
        how = passed or ("copied" if function is None else f"returned by {function}")
        if passed and function is not None:
            how = f"{passed}, returned by {function}"
        self._hops.append(replace(hop, how=how + hop.how))
        if memory is None:
            made = await self._hop(debugger, goal, answer)
            name = "the argument" if function is None else f"{function}()"
            made = replace(made, expression=name, value=hop.value)
            self._hops.append(replace(made, how=event or "computed"))
            return None
        address, size = memory[0], min(memory[1], goal.size)
        kind = goal.type if size == goal.size else _WHOLE.get(size, f"char [{size}]")
        return _Object(f"{{{kind}}} {address:#x}", kind, address, size)

    async def _run(self, debugger: RankDebugger, command: str) -> RankAnswer:
        answer = await debugger.run(command)
        known = self.answers.get(debugger.rank)
        before = answer.before if known is None else known.before
        self.answers[debugger.rank] = replace(answer, before=before)
        if answer.error is not None:
            raise RdbError(f"rank {debugger.rank}: {answer.error}")
        return answer

    async def _hop(self, debugger: RankDebugger, goal: _Object, answer: RankAnswer) -> Hop:
        place = await debugger.own_place()
        now = _NOW.search(answer.text)
        return Hop(
            rank=debugger.rank,
            position=debugger.state.position,
            event=debugger.state.event,
            function=place.function,
            file=place.file,
            line=place.line,
            expression=goal.name,
            value=now[1] if now else "?",
            how="",
        )

    def _end(self, why: str) -> Origin:
        return Origin(tuple(self._hops), why)


async def _object(debugger: RankDebugger, expression: str) -> _Object:
    """The object that EXPRESSION names at the rank's position."""
    found = await debugger.memory_of(expression)
    return _Object(expression, found.type, found.address, found.size)
