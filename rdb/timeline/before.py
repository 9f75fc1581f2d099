"""The instructions just before a position, found without a counter and without going back.

Nothing runs backwards: from some earlier position we step forward, remembering the registers of
every instruction, until we arrive.  If that position is too far to step from, the instructions of a
window are breakpoints for one run to the target, and the last of them that is hit becomes the new
start; each round is nearer by at least the window.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rdb.errors import Diverged
from rdb.replay.agent import Gpr, StopReason
from rdb.timeline.position import Arrive, Hit, Position, Steps
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.travel import COUNT_ID, Travel, _legs, count_arrivals
from rdb.timeline.walker import Walker

_REQUEST = 512  # traced steps that surely fit one answer of the agent
WINDOW = 2 * _REQUEST
_WINDOW_MAX = 128 * _REQUEST
_CANDIDATES = 6


@dataclass(slots=True)
class Trace:
    """`gprs[i]` are the registers at base + i steps; base + len(gprs) steps is the target."""

    base: Position
    gprs: list[Gpr]

    def position(self, index: int) -> Position:
        return self.base.then(Steps(index)) if index else self.base


def trace_before(travel: Travel, target: Position, gpr: Gpr) -> Trace | None:
    """The last instructions before `target`, at least one; None at the start of the recording."""
    target = _normal(travel, target, gpr)
    if not target.moves:
        return _before_answer(travel, target, gpr)
    last = target.moves[-1]
    if isinstance(last, Steps):
        return _before_steps(travel, target, last)
    walker = travel.nearest(target, strictly=True)
    rest = target.after(walker.position)
    if rest is not None and len(rest) == 1:
        walker = walker.fork()
    else:
        walker = travel.to(target.before_last_move())
    try:
        arrivals = _arrivals(walker, target, gpr.rip)
        if arrivals == 0:
            # The last move led nowhere: the recording ends where it started.
            return trace_before(travel, walker.position, gpr)
        return _search(travel, walker, gpr, arrivals)
    finally:
        walker.close()


def _normal(travel: Travel, target: Position, gpr: Gpr) -> Position:
    """Arrival 1 at the pc where the event was answered is the answer itself."""
    at_answer = target.canonical and target.n == 1 and travel.answer_pc(target.event) == gpr.rip
    return Position(target.event) if at_answer else target


def _arrivals(start: Walker, target: Position, pc: int) -> int:
    """How often `pc` is arrived at from `start` to `target`, which is one move away."""
    rest = target.after(start.position)
    match rest:
        case (Hit(_, n),):
            return n
        case (Arrive(_, n),):
            return n - (start.gpr.rip == pc)
    probe = start.fork()
    try:
        return count_arrivals(probe, target, pc)
    finally:
        probe.close()


def _before_steps(travel: Travel, target: Position, last: Steps) -> Trace:
    count = min(last.n, WINDOW)
    base = target.before_last_move()
    if last.n > count:
        base = base.then(Steps(last.n - count))
    walker = travel.to(base)
    try:
        travel.keep(walker)
        gprs: list[Gpr] = []
        while len(gprs) < count:
            stop = walker.step(min(_REQUEST, count - len(gprs)), trace=True)
            gprs.extend(stop.trace)
            if stop.reason is not StopReason.TARGET:
                raise NoSuchPosition(f"position {target} is not in the recording")
        return Trace(base, gprs)
    finally:
        walker.close()


def _before_answer(travel: Travel, target: Position, gpr: Gpr) -> Trace | None:
    """Before the answer of an event: the end of the interval before it."""
    if target.event <= travel.origin.event:
        return None
    start = travel.nearest(target, strictly=True)
    walker = start.fork() if start.event == target.event - 1 else None
    walker = walker or travel.to(Position(target.event - 1))
    try:
        travel.keep_if_worth(walker)
        probe = walker.fork()
        try:
            # The answer brings the last arrival; whether it has been counted, the count since the
            # event says.
            probe.agent.set_break(COUNT_ID, gpr.rip, stop=False)
            probe.to_event(target.event)
            total, since_event = probe.agent.counts(COUNT_ID)
        finally:
            probe.close()
        return _search(travel, walker, gpr, total - since_event + 1)
    finally:
        walker.close()


def _search(travel: Travel, walker: Walker, goal: Gpr, arrivals: int) -> Trace:
    """From `walker`, which may be moved, to the `arrivals`-th arrival at the goal's pc."""
    window = WINDOW
    began_s = walker.at_s
    while True:
        if arrivals > 1:
            # The arrival before the last is nearer than anything else that is known.
            for leg in _legs(Hit(goal.rip, arrivals - 1)):
                travel.keep_if_worth(walker)
                walker.make(leg)
            arrivals = 1
        start = walker.position
        base = walker.fork()
        try:
            gprs, arrived = _step_window(walker, goal.rip, window)
            if arrived:
                if walker.gpr != goal:
                    raise Diverged(f"the way to {goal.rip:#x} from {start} was not found again")
                travel.keep(base)
                return _newest(start, gprs)
        finally:
            base.close()
        walker.position = start.then(Steps(len(gprs)))
        _jump(travel, walker, goal.rip, gprs)
        window = min(window * 2, _WINDOW_MAX)
        walker.control.report("reverse", 1 - 1 / (1 + walker.at_s - began_s))


def _newest(start: Position, gprs: list[Gpr]) -> Trace:
    skipped = max(0, len(gprs) - WINDOW)
    return Trace(start.then(Steps(skipped)) if skipped else start, gprs[skipped:])


def _step_window(walker: Walker, pc: int, window: int) -> tuple[list[Gpr], bool]:
    """Steps until the next arrival at `pc`, or as far as the window goes."""
    gprs: list[Gpr] = []
    while len(gprs) < window:
        stop = walker.step(_REQUEST, trace=True, pc=pc, n=1)
        gprs.extend(stop.trace)
        if stop.reason is StopReason.PC or (
            stop.reason is StopReason.TARGET and walker.gpr.rip == pc
        ):
            return gprs, True
        if stop.reason is not StopReason.TARGET:
            raise NoSuchPosition(f"{pc:#x} is not arrived at again")
    return gprs, False


def _jump(travel: Travel, walker: Walker, pc: int, gprs: list[Gpr]) -> None:
    """To the last hit, before the next arrival at `pc`, of what the window has executed."""
    scan = walker.fork()
    try:
        for id_, candidate in enumerate(rarest(gprs, pc), start=1):
            scan.agent.set_break(id_, candidate, stop=True)
        found = scan.run(walker.event, pc, 1, scan=True).scan
    finally:
        scan.close()
    if found.id:
        for leg in _legs(Hit(found.pc, found.hits)):
            travel.keep_if_worth(walker)
            walker.make(leg)


def rarest(gprs: list[Gpr], pc: int) -> list[int]:
    """The pcs that were executed least often (hits cost time), of equals the latest."""
    counts = Counter(gpr.rip for gpr in gprs)
    latest = {gpr.rip: index for index, gpr in enumerate(gprs)}
    counts.pop(pc, None)
    return sorted(counts, key=lambda one: (counts[one], -latest[one]))[:_CANDIDATES]
