"""Moving replicas to positions: the snapshot to start from, legs on a long way, names.

The walkers kept here are snapshots and never move; callers get forks, which they own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

from rdb.errors import Diverged
from rdb.executor import processors
from rdb.recording.log.threads import Schedule
from rdb.replay.agent import FOREVER, Gpr, Stop, StopReason
from rdb.replay.snapshots import Snapshots
from rdb.timeline.ahead import LEG_EVENTS, Ahead, legs_to
from rdb.timeline.bases import Bases
from rdb.timeline.images import Images
from rdb.timeline.position import Arrive, Hit, Move, Position, Steps, ToEnd
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.walker import Control, Walker
from rdb.undoing import on_failure

COUNT_ID = 0x7264_6202  # of the counting breakpoints that naming sets
_LEG_STEPS = 8192
END_S = 2.0  # limit of processor time after the last event without reaching an end
_WORTH_S = 0.004  # least running time between two snapshots

Tell = Callable[[Walker], None]
Goal = tuple[int, int, int]  # run's (until_event, until_pc, until_n)


def goal_of(position: Position) -> Goal:
    """A canonical position as the target of a run that starts in an earlier interval."""
    if position.pc is None:
        return (position.event, 0, 0)
    return (position.event, position.pc, position.n)


@dataclass(frozen=True, slots=True)
class End:
    """The end of the recording: just before the first instruction that is not in it."""

    position: Position
    gpr: Gpr
    stop: Stop  # how it ends
    exact: bool = True  # False: the end is somewhere after `position`, the last event's answer


class Travel:
    def __init__(
        self,
        origin: Walker,
        control: Control,
        last_event: int,
        schedule: Schedule | None = None,
        images: Images | None = None,
        lost: Sequence[str] = (),
    ) -> None:
        self.control = control
        self._lost = list(lost)
        self.schedule = schedule or Schedule()
        self.snapshots: Snapshots[Walker] = Snapshots(origin)
        self.last_event = last_event
        self._images = images
        self._bases = Bases()
        self.here_s = 0.0  # running time up to the user's position, for dropping snapshots
        self.jobs = processors()  # how many replicas run at a time in a long search
        self.ahead = Ahead(self)
        self._answer_pc: dict[int, int] = {origin.event: origin.gpr.pc}
        self._names: dict[Position, Position] = {}
        self.naming_s = 0.0  # processor time of replicas that was spent for names

    @property
    def origin(self) -> Walker:
        return self.snapshots.origin

    def close(self) -> None:
        self.ahead.close()
        self._bases.close()
        self.snapshots.close()

    def renew(
        self, settled: int, last_event: int, schedule: Schedule, images: Images | None, tell: Tell
    ) -> None:
        """The log has grown, but did not change before event SETTLED.  Snapshots before it are kept
        and told with TELL; later ones are dropped."""
        self.ahead.close()
        self._bases.close()
        self.snapshots.drop(lambda one: one.event >= settled)
        for one in self.snapshots:
            tell(one)
        self.last_event, self.schedule, self._images = last_event, schedule, images
        self.__dict__.pop("end", None)

    # ---- snapshots ----

    def keep(self, walker: Walker) -> None:
        """Leaves a snapshot at the walker's position, unless there is one."""
        walker.fresh_s = 0.0
        if all(one.position != walker.position for one in self.snapshots):
            copy = walker.fork()
            if not self._bases.takes(copy):
                self.snapshots.add(copy, self.here_s, self.control.fork_s)

    def refresh(self) -> None:
        """Call it between motions: adds a finished base."""
        self._bases.refresh(self.snapshots, self.here_s)

    def keep_if_worth(self, walker: Walker) -> None:
        if self.worth(walker):
            self.keep(walker)

    def worth(self, walker: Walker) -> bool:
        """Is it so far from the last snapshot that a new one saves more than it costs?"""
        return walker.fresh_s > max(_WORTH_S, 3 * self.control.fork_s)

    def found_ahead(self, snapshots: list[Walker]) -> None:
        """Takes over snapshots that a background run has made."""
        for one in snapshots:
            if any(other.position == one.position for other in self.snapshots):
                one.close()
            else:
                self.snapshots.add(one, self.here_s, self.control.fork_s)

    def nearest(self, target: Position, strictly: bool = False) -> Walker:
        """The nearest snapshot before or (unless STRICTLY) at `target`.

        May start a replica from an image.  The snapshot stays owned by this object.
        """
        best = self.origin
        for one in self.snapshots:
            if one.event < target.event:
                best = one
            elif one.event == target.event:
                rest = target.after(one.position)
                if rest is not None and (rest or not strictly):
                    best = max(best, one, key=lambda s: (s.event, _depth(s.position)))
        while self._images and (image := self._images.between(best, target, strictly)):
            self.control.check()
            walker = self._images.walker(image, self.control)
            if walker is not None:
                self.snapshots.add(walker, self.here_s, self.control.fork_s)
                return walker
        return best

    @property
    def lost(self) -> list[str]:
        """Texts about parts of the recording that cannot be used."""
        return [*self._lost, *(self._images.lost if self._images else ())]

    def unheard(self) -> AbstractContextManager[None]:
        """Context for work in advance: an image that is refused in it is not dropped."""
        return self._images.unheard() if self._images is not None else nullcontext()

    def again(self, snapshot: Walker) -> Walker:
        """A fork of a snapshot, which may have been dropped meanwhile; the caller owns the fork."""
        if any(one is snapshot for one in self.snapshots):
            return snapshot.fork()
        return self.to(snapshot.position)

    def before(self, target: Position) -> Iterator[Walker]:
        """Snapshots strictly before `target`, nearest first."""
        at: Position | None = target
        while at is not None:
            one = self.nearest(at, strictly=True)
            if one.event == at.event and not at.after(one.position):
                return
            yield one
            at = one.position

    @cached_property
    def end(self) -> End:
        """The end of the recording, computed once.

        A replica that has tried the last system call has lost rcx and r11.  So the end is the
        position before that call.
        """
        position = Position(self.last_event).then(ToEnd())
        walker = self.to(Position(self.last_event))
        last_gpr = walker.gpr
        try:
            stop = self.control.within(
                END_S, lambda: walker.go(position), lambda: walker.agent.spent_s
            )
        finally:
            walker.close()
        if stop is not None:
            # Perhaps killed in a loop: the log does not tell where after the last event.
            stop = replace(stop, reason=StopReason.END, gpr=last_gpr)
            return End(Position(self.last_event), last_gpr, stop, exact=False)
        if walker.end is None:
            raise Diverged(f"the recording did not end after event {self.last_event}")
        try:
            name = self.name(position, walker.gpr.pc)
            before = self.to(name)
        except NoSuchPosition:  # use at least the answer of the last event
            return End(Position(self.last_event), last_gpr, walker.end, exact=False)
        before.close()
        return End(name, before.gpr, walker.end)

    # ---- ways ----

    def to(self, target: Position) -> Walker:
        """A walker at `target`, which the caller owns.  Raises NoSuchPosition, Interrupted,
        Strayed."""
        if target.event > self.last_event or target.event < self.origin.event:
            begins = self.origin.event
            why = f"it goes from {begins} to {self.last_event}"
            if target.event < begins:
                why = f"it begins at {begins}; "
                why += "; ".join(self._lost) or "the events before were dropped (--keep)"
            raise NoSuchPosition(f"event {target.event} is not in the recording: {why}")
        walker = self.ahead.take(target) or self.nearest(target).fork()
        with on_failure(walker.close):
            self.advance(walker, target)
        return walker

    def gpr_at(self, position: Position) -> Gpr:
        walker = self.to(position)
        walker.close()
        return walker.gpr

    def advance(self, walker: Walker, target: Position) -> None:
        """Moves a walker of the caller to `target`, leaving snapshots on a long way."""
        start = walker.event
        for event in legs_to(walker.event, target.event):
            distance = target.event - walker.event
            walker.to_event(event)
            self.keep_if_worth(walker)
            self.control.report("seek", 1 - distance / (target.event - start))
        if target.event > walker.event:
            walker.to_event(target.event)
        self._answer_pc_is(walker)
        rest = target.after(walker.position)
        if rest is None:
            raise ValueError(f"{target} is not on the way from {walker.position}")
        for move in rest:
            for leg in _legs(move):
                self.keep_if_worth(walker)
                walker.make(leg)
        walker.position = target

    def _answer_pc_is(self, walker: Walker) -> None:
        if not walker.position.moves:
            self._answer_pc[walker.event] = walker.gpr.pc

    def knows_answer(self, event: int) -> bool:
        """Is `answer_pc` known without a run?"""
        return event in self._answer_pc

    def answer_pc(self, event: int) -> int:
        """The pc right after an event was answered."""
        if event not in self._answer_pc:
            self.to(Position(event)).close()
        return self._answer_pc[event]

    def before_preemption(self, event: int) -> Position:
        """The position of the thread that PREEMPT record EVENT stopped, named from the event
        before.

        Raises Diverged if the thread was never there.
        """
        walker = self.to(Position(event - 1))
        pc = self.answer_pc(event)
        try:
            at_answer = walker.gpr.pc == pc
            walker.agent.set_break(COUNT_ID, pc, stop=False)
            walker.to_event(event)
            total, since_event = walker.agent.counts(COUNT_ID)
        finally:
            walker.close()
        n = at_answer + total - since_event
        if n == 0:
            raise Diverged(
                f"event {event} stopped a thread at {pc:#x}, which the replay did not reach"
            )
        if n == 1 and at_answer:
            return Position(event - 1)
        return Position.at(event - 1, pc, n)

    # ---- names ----

    def name(self, position: Position, pc: int) -> Position:
        """The canonical name of a position with this PC; the first call replays its interval."""
        known = self._names.get(position)
        if known is None:
            known = self._names[position] = self._name(position, pc)
            if len(self._names) > 10_000:
                self._names.clear()
        return known

    def _name(self, position: Position, pc: int) -> Position:
        if not position.moves:
            return position
        n = position.n
        if not position.canonical:
            walker = self.to(Position(position.event))
            try:
                n = (walker.gpr.pc == pc) + count_arrivals(walker, position, pc)
            finally:
                self.naming_s += walker.agent.spent_s
                walker.close()
        if n == 1 and self.answer_pc(position.event) == pc:
            return Position(position.event)
        return Position.at(position.event, pc, n)

    def goal(self, start: Walker, target: Position, pc: int) -> Goal:
        """The arguments of `run` for one run from the snapshot `start` to `target`."""
        rest = target.after(start.position)
        match rest:
            case None:
                name = self.name(target, pc)
                if name.event == start.event and not start.position.moves and name.pc is not None:
                    return (name.event, pc, name.n - (start.gpr.pc == pc))
                if name.event == start.event and name.pc is not None:
                    return (name.event, pc, name.n - self._arrivals_until(start.position, pc))
                return goal_of(name)
            case (Hit(at, n),):
                return (start.event, at, n)
            case (Arrive(at, n),):
                return (start.event, at, n - (start.gpr.pc == at))
        probe = start.fork()
        try:
            return (start.event, pc, count_arrivals(probe, target, pc))
        finally:
            probe.close()

    def _arrivals_until(self, position: Position, pc: int) -> int:
        """How often `pc` was arrived at from the event to `position`, inclusive."""
        walker = self.to(Position(position.event))
        try:
            at_answer = walker.gpr.pc == pc
            walker.agent.set_break(COUNT_ID, pc, stop=False)
            walker.go(position, counting=True)
            return at_answer + walker.agent.counts(COUNT_ID)[0]
        finally:
            walker.close()


def count_arrivals(walker: Walker, target: Position, pc: int) -> int:
    """Moves the walker to `target`, whose pc is `pc`, and returns the number of arrivals there.

    Raises NoSuchPosition if the target has another pc.
    """
    walker.agent.set_break(COUNT_ID, pc, stop=False)
    walker.go(target, counting=True)
    if walker.gpr.pc != pc:
        raise NoSuchPosition(f"position {target} is at {walker.gpr.pc:#x}, not at {pc:#x}")
    total, _ = walker.agent.counts(COUNT_ID)
    walker.agent.clear_break(COUNT_ID)
    return total


def _depth(position: Position) -> tuple[int, int]:
    return (len(position.moves), position.moves[-1].n if position.moves else 0)


def _legs(move: Move) -> Iterator[Move]:
    """Splits a long move; each leg is half of the rest, so that snapshots get denser at its end."""
    if isinstance(move, Arrive):
        # The first leg must count being at pc at the answer, the others must not.
        if move.n < 2 * LEG_EVENTS:
            yield move
            return
        yield replace(move, n=move.n // 2)
        yield from _legs(Hit(move.pc, move.n - move.n // 2))
        return
    shortest = {Hit: LEG_EVENTS, Steps: _LEG_STEPS}.get(type(move), FOREVER)
    left = move.n
    while left > shortest:
        yield replace(move, n=left // 2)
        left -= left // 2
    yield replace(move, n=left)
