"""All calls of a function in a part of the recording, with the raw bytes of arguments and result.

The caller has read from the debug information where these bytes are (`Plan`).  A long part is cut
at events into pieces that run in parallel.  Each piece finds the calls that begin in it, and their
returns in it; returns after the end of a piece are searched afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.replay.agent import FOREVER, Gpr, StopReason
from rdb.timeline.parallel import SideBySide, side_by_side
from rdb.timeline.pieces import ahead, cuts_between
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted
from rdb.timeline.travel import Travel
from rdb.timeline.walker import ENDED, Walker

_ENTRY_ID = 1
_LEGS = 64
_LOOK_S = 0.2
_WORD = 8
_XMM, _XMM_BYTES = 160, 16  # in an XSAVE area (Intel SDM vol. 1 ch. 13.4.2)

Look = Callable[[float, int], None]
StackIs = Callable[[int], bytes]


class NotPlain(RdbError):
    """A call does not have the frame that the plan describes."""


class Plan(NamedTuple):
    """The bytes to take at each call.  The frame's address is the stack pointer after the
    return."""

    entry: int
    frame: int  # the frame's address minus the stack pointer at the entry
    has_base: bool  # rbp is the frame's address minus 16
    low: int  # memory to take: [low, high), relative to the frame's address
    high: int
    vector: int  # how many of xmm0, xmm1, ... to take
    texts: tuple[tuple[str, int], ...]  # pointers to texts: ("rdi", 0) or ("", frame offset)
    text_bytes: int
    result_bytes: int  # bytes to take at the address in rax
    result_vector: int


@dataclass(slots=True)
class Taken:
    gpr: Gpr
    vector: bytes
    memory: bytes
    texts: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Call:
    position: Position
    stack: int  # the frame's address
    back: int
    entered: Taken
    returned: Taken | None = None


class _Piece:
    def __init__(self, most: int) -> None:
        self.calls: list[Call] = []
        self.open: list[Call] = []  # calls that have not returned at the end of the piece
        self.most = most


class CallSearch:
    """`run` fills `calls` in order, with at most MOST; an interrupt leaves the first ones.

    START: canonical name of the position at which a call begins.  STACK_IS: stack pointer -> agent
    expression that is true with it.  `more`: there are more calls.  `run` raises NotPlain,
    Interrupted.
    """

    def __init__(
        self, travel: Travel, plan: Plan, stack_is: StackIs, start: Position, most: int
    ) -> None:
        self._travel = travel
        self._plan = plan
        self._stack_is = stack_is
        self._start = start
        self._most = most
        self._backs: set[int] = set()  # return addresses that are known to follow a call
        self.calls: list[Call] = []
        self.more = False

    def run(self, look: Look) -> None:
        last = self._travel.last_event
        cuts = [*cuts_between(self._travel.jobs, self._start.event, last), FOREVER]
        lead = self._travel.to(self._start)
        stopped = threading.Event()
        interrupted = False
        pieces: list[_Piece] = []
        opened: list[tuple[Position, Call]] = []  # (end of its piece, call without return)
        joined = 0

        def join() -> None:
            nonlocal joined
            piece = pieces[joined]
            room = self._most - len(self.calls)
            self.more = self.more or len(piece.calls) > room
            taken = piece.calls[:room]
            self.calls += taken
            if cuts[joined] != FOREVER:
                kept = {id(call) for call in taken}
                opened.extend(
                    (Position(cuts[joined]), call) for call in piece.open if id(call) in kept
                )
            joined += 1

        with side_by_side(SideBySide[bool](max(self._travel.jobs, 1))) as group:
            try:
                for number, cut in enumerate(cuts):
                    try:
                        look(number / len(cuts), len(self.calls))
                        walker = lead.fork()
                        pieces.append(_Piece(self._most + 1))
                        work = partial(self._piece, walker, cut, pieces[-1], stopped, number == 0)
                        group.add(work, walker)
                        if cut != FOREVER:
                            lead = ahead(self._travel, lead, cut)
                    except Interrupted:
                        interrupted = True
                        stopped.set()
                        break
                    while not self.more and joined < number and group.tasks[joined].wait(0):
                        group.tasks[joined].result()
                        join()
                    if self.more:
                        break
            finally:
                lead.close()
            while joined < len(pieces) and not self.more:
                try:
                    while not stopped.is_set() and not group.tasks[joined].wait(_LOOK_S):
                        look(joined / len(cuts), len(self.calls) + len(pieces[joined].calls))
                except Interrupted:
                    interrupted = True
                    stopped.set()
                whole = group.tasks[joined].result()
                join()
                if not whole:
                    raise Interrupted
            stopped.set()
        if interrupted:
            raise Interrupted
        self._go_on(opened, look)

    def _piece(
        self, walker: Walker, until: int, piece: _Piece, stopped: threading.Event, at_entry: bool
    ) -> bool:
        """Fills PIECE; False: it was stopped before the end.  AT_ENTRY: a call begins at its
        start."""
        plan, agent = self._plan, walker.agent
        start = walker.position
        event = start.event
        # Arrivals at the entry since the event, including those in the name of the start.
        arrived = start.n if start.moves else int(walker.gpr.pc == plan.entry)
        agent.set_break(_ENTRY_ID, plan.entry, stop=True)
        waiting: dict[int, Call] = {}
        next_id = _ENTRY_ID + 1
        if at_entry:
            self._enter(walker, start, piece, waiting, next_id)
            next_id += 1
        while True:
            if stopped.is_set():
                return False
            try:
                stop = walker.run(until_event=until)
            except Interrupted:
                return False
            if stop.reason in ENDED or stop.reason is StopReason.TARGET:
                break
            if stop.event != event:
                event, arrived = stop.event, 0
            if stop.id != _ENTRY_ID:
                waiting.pop(stop.id).returned = self._returned(walker)
                agent.clear_break(stop.id)
            else:
                arrived += 1
                self._enter(
                    walker, Position.at(event, plan.entry, arrived), piece, waiting, next_id
                )
                next_id += 1
                if len(piece.calls) == piece.most:
                    agent.clear_break(_ENTRY_ID)
            if len(piece.calls) == piece.most and not any(
                call is not piece.calls[-1] for call in waiting.values()
            ):
                break
        piece.open = list(waiting.values())
        return True

    def _enter(
        self, walker: Walker, position: Position, piece: _Piece, waiting: dict[int, Call], id_: int
    ) -> None:
        call = self._entered(walker, position)
        # A waiting call at the same place was left by longjmp(3): it does not return.
        for number in [n for n, other in waiting.items() if other.stack == call.stack]:
            del waiting[number]
            walker.agent.clear_break(number)
        piece.calls.append(call)
        waiting[id_] = call
        walker.agent.set_break(id_, call.back, stop=True, cond=self._stack_is(call.stack))

    def _entered(self, walker: Walker, position: Position) -> Call:
        plan, agent, gpr = self._plan, walker.agent, walker.gpr
        frame = gpr.sp + plan.frame
        memory = agent.read(frame + plan.low, plan.high - plan.low)
        if len(memory) != plan.high - plan.low or (plan.has_base and gpr.rbp + 16 != frame):
            raise NotPlain("its stack frame has another layout")
        back = _word(memory, -_WORD - plan.low)
        self._check_back(walker, back)
        taken = Taken(gpr, _vector(walker, plan.vector), memory)
        for register, offset in plan.texts:
            at = getattr(gpr, register) if register else _word(memory, offset - plan.low)
            taken.texts.append(agent.read(at, plan.text_bytes) if at else b"")
        return Call(position, frame, back, taken)

    def _check_back(self, walker: Walker, back: int) -> None:
        """Raises NotPlain if no call instruction is before a return address."""
        if back in self._backs:
            return
        before = walker.agent.read(back - 7, 7)
        near = len(before) == 7 and before[2] == 0xE8
        indirect = len(before) == 7 and any(
            before[-length] == 0xFF and before[1 - length] >> 3 & 7 == 2
            for length in (2, 3, 4, 6, 7)
        )
        if not near and not indirect:
            raise NotPlain("no call instruction is before its return address")
        self._backs.add(back)

    def _returned(self, walker: Walker) -> Taken:
        plan, gpr = self._plan, walker.gpr
        length = plan.result_bytes
        memory = walker.agent.read(gpr.rax, length) if length and gpr.rax else b""
        return Taken(gpr, _vector(walker, plan.result_vector), memory)

    def _go_on(self, opened: list[tuple[Position, Call]], look: Look) -> None:
        """Searches the open calls' returns in one run, from the end of the first piece on."""
        if not opened:
            return
        first, last = opened[0][0].event, max(self._travel.last_event, 1)
        walker = self._travel.to(opened[0][0])
        waiting: dict[int, Call] = {}
        entries: dict[int, int] = {}  # breakpoint at the return -> breakpoint at the entry
        next_id = _ENTRY_ID

        def drop(number: int) -> None:
            walker.agent.clear_break(number)
            walker.agent.clear_break(entries.pop(number))

        leg = max((last - first) // _LEGS, 1)
        rest = list(opened)
        try:
            while rest or waiting:
                look(walker.live_event / last, len(self.calls))
                while rest and rest[0][0].event == walker.live_event:
                    call = rest.pop(0)[1]
                    entry_sp = self._stack_is(call.stack - self._plan.frame)
                    walker.agent.set_break(
                        next_id, call.back, stop=True, cond=self._stack_is(call.stack)
                    )
                    walker.agent.set_break(next_id + 1, self._plan.entry, stop=True, cond=entry_sp)
                    waiting[next_id], entries[next_id] = call, next_id + 1
                    next_id += 2
                if rest and not waiting:
                    walker.close()
                    walker = self._travel.to(rest[0][0])
                    continue
                until = rest[0][0].event if rest else FOREVER
                if walker.live_event + leg < last:
                    until = min(until, walker.live_event + leg)
                stop = walker.run(until_event=until)
                if stop.reason in ENDED:
                    return
                if stop.reason is StopReason.TARGET:
                    continue
                number = next(one for one, other in entries.items() if stop.id in (one, other))
                call = waiting.pop(number)
                if stop.id == number:
                    call.returned = self._returned(walker)
                drop(number)
        finally:
            walker.close()


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _WORD], "little")


def _vector(walker: Walker, count: int) -> bytes:
    if not count:
        return b""
    area = walker.agent.get_regs().xsave
    return area[_XMM : _XMM + count * _XMM_BYTES].ljust(count * _XMM_BYTES, b"\0")
