"""The instructions just before a position, found without a counter and without going back.

Nothing runs backwards: from some earlier position we step forward, keeping the registers of the
newest instructions, until we arrive.  If that position is too far to step from, calls that the
stack at the target tells of, or instructions of a window, are breakpoints for one run to the
target, and the last of them that is hit becomes the new start; each round is nearer.
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

TRACE = 560  # registers that surely fit one answer of the agent
WINDOW = 40_000  # instructions stepped before anything else is tried: 4 ms
_FORKS = 2  # or as many as take so many forks' time: anything else costs several
_PER_S = 8_000_000  # instructions stepped
_WINDOW_MAX = 2_000_000
_ARRIVALS = 1024  # at the target's pc that are stepped through rather than skipped
_CANDIDATES = 3
_HOT = 16  # a loop so short that a hit of each turn costs more than stepping it
_CALLS = 12
_STACK = 1024


@dataclass(slots=True)
class Trace:
    """`gprs[i]` are the registers at base + i steps; base + len(gprs) steps is the target."""

    base: Position
    gprs: list[Gpr]
    backlog: Backlog | None = None  # for the caller to close; if asked for

    def position(self, index: int) -> Position:
        return self.base.then(Steps(index)) if index else self.base


def trace_before(travel: Travel, target: Position, gpr: Gpr, backlog: bool = False) -> Trace | None:
    """The last instructions before `target`, at least one; None at the start of the recording.

    `backlog`: and what memory was there, where it can be had.
    """
    answered = _at_answer(travel, target)  # it is needed anyway
    try:
        target = normal(travel, target, gpr)
        walker = _nearby(travel, target, answered)
    except BaseException:
        if answered is not None:
            answered.close()
        raise
    if walker is None:
        return _before_simple(travel, target, gpr, backlog)
    try:
        arrivals = _arrivals(walker, target, gpr.rip)
        if arrivals == 0:
            # The last move led nowhere: the recording ends where it started.
            walker.close()
            return trace_before(travel, walker.position, gpr, backlog)
        trace = _between_arrivals(travel, walker, gpr, arrivals, backlog)
        if trace is None:
            trace = _search(travel, walker, gpr, (walker.event, gpr.rip, 1), backlog)
    except BaseException:
        walker.close()
        raise
    return _done_with(walker, trace)


def _at_answer(travel: Travel, target: Position) -> Walker | None:
    """Where the event was answered, if that has to be looked at to tell what `target` is."""
    if target.canonical and target.n == 1 and not travel.knows_answer(target.event):
        return travel.to(Position(target.event))
    return None


def _nearby(travel: Travel, target: Position, answered: Walker | None) -> Walker | None:
    """A walker to search from, for the caller; None: there is a simpler way.  Takes `answered`."""
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
        return _before_place(travel, Position(target.event - 1))  # nobody ran in between
    if _answered(travel, target) and travel.schedule.preempted(target.event):
        # No instruction of the thread either.
        return _before_place(travel, travel.before_preemption(target.event))
    if not target.moves:
        return _before_answer(travel, target, gpr, backlog)
    last = target.moves[-1]
    assert isinstance(last, Steps)
    return _before_steps(travel, target, last, backlog)


def _between_arrivals(
    travel: Travel, walker: Walker, goal: Gpr, arrivals: int, backlog: bool
) -> Trace | None:
    """The arrivals before this one are nearer than anything else that is known: from so many before
    it that what is kept is filled.  None: the walker is moved to the last one, which is too far."""
    pc = goal.rip
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
            near = min(max(met * TRACED // WINDOW, 1), left)  # so many fill what is kept
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
    """Of a walker that has gone `steps` from `start`, whose last request made `made` of them."""
    skipped = steps - len(gprs)
    base = start.then(Steps(skipped)) if skipped else start
    return Trace(base, gprs, Backlog(walker, start, steps, made) if backlog else None)


def _done_with(walker: Walker, trace: Trace) -> Trace:
    """Closes the walker, unless the trace has got it."""
    if trace.backlog is None:
        walker.close()
    return trace


def _answered(travel: Travel, target: Position) -> bool:
    """Right at the answer of an event, and not the first one that there is."""
    return not target.moves and target.event > travel.origin.event


def normal(travel: Travel, target: Position, gpr: Gpr) -> Position:
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


def _before_steps(travel: Travel, target: Position, last: Steps, backlog: bool) -> Trace:
    count = min(last.n, TRACED)
    base = target.before_last_move()
    if last.n > count:
        base = base.then(Steps(last.n - count))
    walker = travel.to(base)
    try:
        travel.keep_if_worth(walker)
        stop = walker.step(count, trace=True)
        if stop.reason is not StopReason.TARGET:
            raise NoSuchPosition(f"position {target} is not in the recording")
        trace = _trace(walker, base, stop.steps, stop.trace, stop.steps, backlog)
    except BaseException:
        walker.close()
        raise
    return _done_with(walker, trace)


def _before_answer(travel: Travel, target: Position, gpr: Gpr, backlog: bool) -> Trace | None:
    """Before the answer of an event: the end of the interval before it."""
    if target.event <= travel.origin.event:
        return None
    start = travel.nearest(target, strictly=True)
    walker = start.fork() if start.event == target.event - 1 else None
    walker = walker or travel.to(Position(target.event - 1))
    try:
        trace = _search(travel, walker, gpr, (target.event, 0, 0), backlog)
    except BaseException:
        walker.close()
        raise
    return _done_with(walker, trace)


def _before_place(travel: Travel, target: Position) -> Trace | None:
    return trace_before(travel, target, travel.gpr_at(target))


def _search(travel: Travel, walker: Walker, goal: Gpr, way: Goal, backlog: bool = False) -> Trace:
    """From `walker`, which is moved, to `goal`, where the run `way` ends."""
    window = max(WINDOW, int(_FORKS * travel.control.fork_s * _PER_S))
    candidates: list[int] | None = None  # None: the stack has not been looked at
    began_s = walker.at_s
    while True:
        start = walker.position
        travel.keep_if_worth(walker)
        steps, gprs, made, arrived = _step_window(walker, goal.rip, window, way)
        if arrived:
            if walker.gpr != goal:
                raise Diverged(f"the way to {goal.rip:#x} from {start} was not found again")
            return _trace(walker, start, steps, gprs, made, backlog)
        walker.position = start.then(Steps(steps))
        if candidates is None:
            candidates = _calls_on_stack(walker, way)
            jumped = _jump(travel, walker, goal, way, candidates)
        else:
            jumped = False
        if not jumped:
            _jump(travel, walker, goal, way, rarest(gprs, goal.rip, hot=_HOT))
        window = min(window * 4, _WINDOW_MAX)
        walker.control.report("reverse", 1 - 1 / (1 + walker.at_s - began_s))


def _step_window(
    walker: Walker, pc: int, window: int, way: Goal
) -> tuple[int, list[Gpr], int, bool]:
    """Steps until arrived, or as far as the window goes: how many, the newest registers, how many
    the last request made."""
    event, until_pc, _ = way
    steps = 0
    gprs: list[Gpr] = []
    while steps < window:
        stop = walker.step(window - steps, trace=True, pc=pc, n=1)
        steps += stop.steps
        gprs = (gprs + stop.trace)[-TRACE:]
        arrived = stop.event == event and stop.gpr.rip == pc
        if arrived and (until_pc or stop.steps):
            return steps, gprs, stop.steps, True
        if stop.event > walker.event or stop.reason not in (StopReason.PC, StopReason.TARGET):
            raise NoSuchPosition(f"{pc:#x} is not arrived at again")
    return steps, gprs, 0, False


def _jump(travel: Travel, walker: Walker, goal: Gpr, way: Goal, candidates: list[int]) -> bool:
    """To the last hit of a candidate on the way, if there is one."""
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
        return False  # a candidate was no instruction, but the middle of one
    if found.id == 0 or found.event != walker.event:
        return False
    _hop(travel, walker, found.pc, found.hits)
    return True


def _hop(travel: Travel, walker: Walker, pc: int, hits: int) -> None:
    for leg in _legs(Hit(pc, hits)):
        travel.keep_if_worth(walker)
        walker.make(leg)


def rarest(gprs: list[Gpr], pc: int, hot: int | None = None) -> list[int]:
    """The pcs that were executed least often (hits cost time), of equals the latest."""
    counts = Counter(gpr.rip for gpr in gprs)
    latest = {gpr.rip: index for index, gpr in enumerate(gprs)}
    counts.pop(pc, None)
    order = sorted(counts, key=lambda one: (counts[one], -latest[one]))
    if hot is not None:
        order = [one for one in order if counts[one] < hot]
    return order[:_CANDIDATES]


def _calls_on_stack(walker: Walker, way: Goal) -> list[int]:
    """The call instructions that may have led to the target, as its stack has them.

    Mistakes cost nothing but time: a candidate is only a place to look from.
    """
    there = walker.fork()
    try:
        there.run(*way)
        agent = there.agent
        stack = agent.read(there.gpr.rsp, _STACK)
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
    """Where a call that returns to `after` may start (Intel SDM vol. 2, CALL: E8, FF /2)."""
    if code[-5:-4] == b"\xe8":
        yield after - 5
        return
    for length in (2, 3, 4, 6, 7):
        # One of r8 to r15 in the address: a prefix, or else the end of another instruction.
        prefixed = length < len(code) and 0x41 <= code[-length - 1] <= 0x43
        if code[-length] == 0xFF and _length(code[-length + 1 :]) == length - 1 and not prefixed:
            yield after - length
            return


def _length(operand: bytes) -> int:
    """Bytes of a ModRM byte with extension 2 and of what it says comes after it; 0: not that."""
    mode, extension, rm = operand[0] >> 6, operand[0] >> 3 & 7, operand[0] & 7
    if extension != 2:
        return 0
    if mode == 3:
        return 1
    length = 2 if rm == 4 else 1
    base = operand[1] & 7 if rm == 4 and len(operand) > 1 else rm
    return length + (4 if mode == 2 or (mode == 0 and base == 5) else mode)
