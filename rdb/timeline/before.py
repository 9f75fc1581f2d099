"""The instructions just before a position, found without an instruction counter.

Nothing runs backwards: from an earlier position we step forward to the target, and keep the
registers of the newest instructions.  If the earlier position is too far away to step, we run to
the target once with breakpoints at calls that the target's stack shows, or at instructions of a
window. The last hit becomes the new start; each round comes nearer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rdb.errors import Diverged
from rdb.replay.agent import Gpr, StopReason
from rdb.replay.protocol import TRACED
from rdb.timeline.backlog import Backlog
from rdb.timeline.position import Arrive, Hit, Position, Steps
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.travel import COUNT_ID, Goal, Travel, _legs, count_arrivals
from rdb.timeline.walker import Walker
from rdb.undoing import on_failure

TRACE = 560  # sets of registers that fit one answer of the agent
WINDOW = 40_000  # instructions stepped before anything else is tried: 4 ms
_FORKS = 2  # a window takes at least as long as so many forks: other ways cost several
_PER_S = 8_000_000  # instructions stepped per second
_WINDOW_MAX = 2_000_000
_ARRIVALS = 1024  # at the target's pc that are stepped through rather than skipped
_CANDIDATES = 3
_HOT = 16  # a pc that occurs more often in a window is too expensive as a breakpoint
_CALLS = 12
_STACK = 1024


@dataclass(slots=True)
class Trace:
    """`gprs[i]` are the registers at base + i steps; base + len(gprs) steps is the target."""

    base: Position
    gprs: list[Gpr]
    backlog: Backlog | None = None  # if asked for; the caller closes it

    def position(self, index: int) -> Position:
        return self.base.then(Steps(index)) if index else self.base


def trace_before(travel: Travel, target: Position, gpr: Gpr, backlog: bool = False) -> Trace | None:
    """The last instructions before `target`, at least one; None at the start of the recording.

    GPR: registers at the target.  `backlog`: also returns a Backlog, if possible.  Raises Diverged
    or NoSuchPosition if the target is not reached again.
    """
    answered = _at_answer(travel, target)  # needed below in any case
    try:
        target = normal(travel, target, gpr)
        walker = _nearby(travel, target, answered)
    except BaseException:
        if answered is not None:
            answered.close()
        raise
    if walker is None:
        return _before_simple(travel, target, gpr, backlog)
    with on_failure(walker.close):
        arrivals = _arrivals(walker, target, gpr.pc)
        if arrivals == 0:
            # The last move was empty: the recording ends where that move starts.
            walker.close()
            return trace_before(travel, walker.position, gpr, backlog)
        trace = _between_arrivals(travel, walker, gpr, arrivals, backlog)
        if trace is None:
            trace = _search(travel, walker, gpr, (walker.event, gpr.pc, 1), backlog)
    return _done_with(walker, trace)


def _at_answer(travel: Travel, target: Position) -> Walker | None:
    """A walker at the answer of the event, if `normal` needs the pc there; else None."""
    if target.canonical and target.n == 1 and not travel.knows_answer(target.event):
        return travel.to(Position(target.event))
    return None


def _nearby(travel: Travel, target: Position, answered: Walker | None) -> Walker | None:
    """A walker to search from, which the caller owns; None: there is a simpler way.

    Takes over ANSWERED.
    """
    if not target.moves or isinstance(target.moves[-1], Steps):
        if answered is not None:
            answered.close()
        return None
    if answered is not None:
        return answered
    walker = travel.nearest(target, strictly=True)
    rest = target.after(walker.position)
    if rest is not None and len(rest) == 1:
        return walker.fork()
    return travel.to(target.before_last_move())


def _before_simple(travel: Travel, target: Position, gpr: Gpr, backlog: bool) -> Trace | None:
    if _answered(travel, target) and travel.schedule.idle(target.event - 1):
        return _before_place(travel, Position(target.event - 1))  # no thread ran in between
    if _answered(travel, target) and travel.schedule.preempted(target.event):
        # The event is a PREEMPT record: no instruction made it.
        return _before_place(travel, travel.before_preemption(target.event))
    if not target.moves:
        return _before_answer(travel, target, gpr, backlog)
    last = target.moves[-1]
    assert isinstance(last, Steps)
    return _before_steps(travel, target, last, backlog)


def _between_arrivals(
    travel: Travel, walker: Walker, goal: Gpr, arrivals: int, backlog: bool
) -> Trace | None:
    """Traces from earlier arrivals at the goal's pc, as many as fill the kept registers.

    WALKER is ARRIVALS arrivals before the goal.  None: the walker was moved to the last arrival
    before the goal, which is too far to step.
    """
    pc = goal.pc
    if arrivals > 1:
        if arrivals > _ARRIVALS:
            _hop(travel, walker, pc, arrivals - _ARRIVALS)
        left = min(arrivals, _ARRIVALS)
        while left > 1:
            travel.keep_if_worth(walker)
            start = walker.position
            walker.agent.set_break(COUNT_ID, pc, stop=False)
            stop = walker.step(WINDOW, trace=True, pc=pc, n=left, blind=False)
            if stop.reason is StopReason.PC:
                if walker.gpr != goal:
                    raise Diverged(f"the way to {pc:#x} from {start} was not found again")
                return _trace(walker, start, stop.steps, stop.trace, stop.steps, backlog)
            if stop.reason is not StopReason.TARGET or stop.event != start.event:
                raise NoSuchPosition(f"{pc:#x} is not arrived at again")
            walker.position = start.then(Steps(stop.steps))
            met, _ = walker.agent.counts(COUNT_ID)
            walker.agent.clear_break(COUNT_ID)
            left -= met
            near = min(max(met * TRACED // WINDOW, 1), left)  # arrivals within TRACED steps
            if left > near:
                _hop(travel, walker, pc, left - near)
                left = near
            if not met:
                break
        if left > 1:
            _hop(travel, walker, pc, left - 1)
    return None


def _trace(
    walker: Walker, start: Position, steps: int, gprs: list[Gpr], made: int, backlog: bool
) -> Trace:
    """The trace of a walker that is `steps` after `start`; MADE: as for Backlog."""
    skipped = steps - len(gprs)
    base = start.then(Steps(skipped)) if skipped else start
    return Trace(base, gprs, Backlog(walker, start, steps, made) if backlog else None)


def _done_with(walker: Walker, trace: Trace) -> Trace:
    """Closes the walker unless the trace's backlog owns it."""
    if trace.backlog is None:
        walker.close()
    return trace


def _answered(travel: Travel, target: Position) -> bool:
    """Is `target` the answer of an event other than the first?"""
    return not target.moves and target.event > travel.origin.event


def normal(travel: Travel, target: Position, gpr: Gpr) -> Position:
    """`target`, named as the answer of its event if it is that answer."""
    at_answer = target.canonical and target.n == 1 and travel.answer_pc(target.event) == gpr.pc
    return Position(target.event) if at_answer else target


def _arrivals(start: Walker, target: Position, pc: int) -> int:
    """How often `pc` is arrived at from `start` to `target`, which is one move away."""
    rest = target.after(start.position)
    match rest:
        case (Hit(_, n),):
            return n
        case (Arrive(_, n),):
            return n - (start.gpr.pc == pc)
    probe = start.fork()
    try:
        return count_arrivals(probe, target, pc)
    finally:
        probe.close()


def _before_steps(travel: Travel, target: Position, last: Steps, backlog: bool) -> Trace:
    count = min(last.n, TRACED)
    base = target.before_last_move()
    if last.n > count:
        base = base.then(Steps(last.n - count))
    walker = travel.to(base)
    with on_failure(walker.close):
        travel.keep_if_worth(walker)
        stop = walker.step(count, trace=True)
        if stop.reason is not StopReason.TARGET:
            raise NoSuchPosition(f"position {target} is not in the recording")
        trace = _trace(walker, base, stop.steps, stop.trace, stop.steps, backlog)
    return _done_with(walker, trace)


def _before_answer(travel: Travel, target: Position, gpr: Gpr, backlog: bool) -> Trace | None:
    """The trace before the answer of an event: the end of the interval before it."""
    if target.event <= travel.origin.event:
        return None
    start = travel.nearest(target, strictly=True)
    walker = start.fork() if start.event == target.event - 1 else None
    walker = walker or travel.to(Position(target.event - 1))
    with on_failure(walker.close):
        trace = _search(travel, walker, gpr, (target.event, 0, 0), backlog)
    return _done_with(walker, trace)


def _before_place(travel: Travel, target: Position) -> Trace | None:
    return trace_before(travel, target, travel.gpr_at(target))


def _search(travel: Travel, walker: Walker, goal: Gpr, way: Goal, backlog: bool = False) -> Trace:
    """The trace from WALKER, which is moved, to GOAL, where the run WAY ends."""
    window = max(WINDOW, int(_FORKS * travel.control.fork_s * _PER_S))
    candidates: list[int] | None = None  # None: the stack has not been looked at
    began_s = walker.at_s
    while True:
        start = walker.position
        travel.keep_if_worth(walker)
        steps, gprs, made, arrived = _step_window(walker, goal.pc, window, way)
        if arrived:
            if walker.gpr != goal:
                raise Diverged(f"the way to {goal.pc:#x} from {start} was not found again")
            return _trace(walker, start, steps, gprs, made, backlog)
        walker.position = start.then(Steps(steps))
        if candidates is None:
            candidates = _calls_on_stack(walker, way)
            jumped = _jump(travel, walker, goal, way, candidates)
        else:
            jumped = False
        if not jumped:
            _jump(travel, walker, goal, way, rarest(gprs, goal.pc, hot=_HOT))
        window = min(window * 4, _WINDOW_MAX)
        walker.control.report("reverse", 1 - 1 / (1 + walker.at_s - began_s))


def _step_window(
    walker: Walker, pc: int, window: int, way: Goal
) -> tuple[int, list[Gpr], int, bool]:
    """Steps to the end of WAY, at most WINDOW steps.

    (steps made, newest registers, steps of the last request, arrived?)
    """
    event, until_pc, _ = way
    steps = 0
    gprs: list[Gpr] = []
    while steps < window:
        stop = walker.step(window - steps, trace=True, pc=pc, n=1)
        steps += stop.steps
        gprs = (gprs + stop.trace)[-TRACE:]
        arrived = stop.event == event and stop.gpr.pc == pc
        if arrived and (until_pc or stop.steps):
            return steps, gprs, stop.steps, True
        if stop.event > walker.event or stop.reason not in (StopReason.PC, StopReason.TARGET):
            raise NoSuchPosition(f"{pc:#x} is not arrived at again")
    return steps, gprs, 0, False


def _jump(travel: Travel, walker: Walker, goal: Gpr, way: Goal, candidates: list[int]) -> bool:
    """Moves the walker to the last hit of a candidate on the way; False: there is none."""
    if not candidates:
        return False
    scan = walker.fork()
    try:
        for id_, candidate in enumerate(candidates, start=1):
            scan.agent.set_break(id_, candidate, stop=True)
        stop = scan.run(*way, scan=True)
        found = stop.scan
    finally:
        scan.close()
    if stop.reason is not StopReason.TARGET or stop.gpr != goal:
        return False  # a candidate was not the beginning of an instruction
    if found.id == 0 or found.event != walker.event:
        return False
    _hop(travel, walker, found.pc, found.hits)
    return True


def _hop(travel: Travel, walker: Walker, pc: int, hits: int) -> None:
    for leg in _legs(Hit(pc, hits)):
        travel.keep_if_worth(walker)
        walker.make(leg)


def rarest(gprs: list[Gpr], pc: int, hot: int | None = None) -> list[int]:
    """The pcs that were executed least often (hits cost time), among equals the latest first."""
    counts = Counter(gpr.pc for gpr in gprs)
    latest = {gpr.pc: index for index, gpr in enumerate(gprs)}
    counts.pop(pc, None)
    order = sorted(counts, key=lambda one: (counts[one], -latest[one]))
    if hot is not None:
        order = [one for one in order if counts[one] < hot]
    return order[:_CANDIDATES]


def _calls_on_stack(walker: Walker, way: Goal) -> list[int]:
    """Addresses of call instructions that may have led to the target, from words on its stack.

    A wrong candidate costs only time.
    """
    there = walker.fork()
    try:
        there.run(*way)
        agent = there.agent
        stack = agent.read(there.gpr.sp, _STACK)
        text = [(one.start, one.end) for one in agent.maps() if one.prot & 4]
        calls: list[int] = []
        for at in range(0, len(stack) - 7, 8):
            word = int.from_bytes(stack[at : at + 8], "little")
            if any(start + 8 <= word < end for start, end in text):
                calls += [one for one in _call_before(agent.read(word - 8, 8), word)]
        return list(dict.fromkeys(calls))[:_CALLS]
    finally:
        there.close()


def _call_before(code: bytes, after: int) -> Iterator[int]:
    """Where a call that returns to `after` may start (Intel SDM, volume 2, CALL: E8, FF /2)."""
    if code[-5:-4] == b"\xe8":
        yield after - 5
        return
    for length in (2, 3, 4, 6, 7):
        # A REX prefix (r8 to r15 in the address), or the end of another instruction.
        prefixed = length < len(code) and 0x41 <= code[-length - 1] <= 0x43
        if code[-length] == 0xFF and _length(code[-length + 1 :]) == length - 1 and not prefixed:
            yield after - length
            return


def _length(operand: bytes) -> int:
    """Bytes of a ModRM operand with extension 2, with SIB and displacement; 0: it is none."""
    mode, extension, rm = operand[0] >> 6, operand[0] >> 3 & 7, operand[0] & 7
    if extension != 2:
        return 0
    if mode == 3:
        return 1
    length = 2 if rm == 4 else 1
    base = operand[1] & 7 if rm == 4 and len(operand) > 1 else rm
    return length + (4 if mode == 2 or (mode == 0 and base == 5) else mode)
