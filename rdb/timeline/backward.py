"""Going back, and going to any position.

Single steps back are answered from a trace; no replica runs.
"""

from __future__ import annotations

from rdb.replay.agent import Gpr, StopReason
from rdb.timeline import scan
from rdb.timeline.branches import BranchPoint, Root
from rdb.timeline.forward import Forward
from rdb.timeline.position import Position, Steps, ToEnd
from rdb.timeline.recent import can_tell
from rdb.timeline.signals import Delivery
from rdb.timeline.stopped import Stopped


class Backward(Forward):
    def _step_back(self) -> Stopped:
        if self._left_branch():
            return Stopped("root", text="back where the branch left the recording")
        if not self._past:
            self._trace_here()
        if not self._past:
            return Stopped("start")
        return self._step_back_over()

    def _step_back_over(self) -> Stopped:
        """Goes to before the newest remembered instruction."""
        base, index, gpr = self._past.last
        before = base.then(Steps(index)) if index else base
        hit = self._watch_hit_after(before)
        self._past.pop()
        self._drop_live()
        self._here, self._gpr = before, gpr
        return hit or Stopped("step")

    def _step_back_inside(self, first: int, end: int) -> Stopped:
        """Steps back at least once, until the instruction that comes next is not one of these, or
        has a breakpoint."""
        places = {one.addr for one in self.points.breakpoints.values()}
        stopped = self._step_back()
        while stopped.reason == "step" and first <= (pc := self._gpr.pc) < end and pc not in places:
            self.control.check()
            if not self._past:
                self._trace_here()
            if not self._past:
                return Stopped("start")
            self._drop_live()
            self._here, self._gpr = self._past.back_out(first, end, places)
        return stopped

    def _watch_hit_after(self, before: Position) -> Stopped | None:
        """Does the instruction at `before` hit a watchpoint?"""
        if not self.points.watchpoints:
            return None
        walker = self.travel.to(before)
        try:
            self.points.arm_watchpoints(walker.agent)
            stop = walker.step(1, blind=False)
        finally:
            walker.close()
        return self._watch_stop(stop) if stop.reason is StopReason.WATCH else None

    def _cont_back(self) -> Stopped:
        if self._left_branch():
            return Stopped("root", text="back where the branch left the recording")
        until = self._to_until(forward=False)
        if until is not None:
            return until
        before: tuple[Position, Gpr] | None = None
        one = self._delivery(forward=False)
        if self._past_tells(one):
            recent = self._recent_hit()
            if recent is not None:
                return recent
            before = self._past.oldest()
        self._keep_here()
        found = scan.last_hit(
            self.travel,
            self.points,
            *(before or (self._here, self._gpr)),
            since=None if one is None else Position(one.event),
        )
        if found is None and one is not None:
            self._seek(one.position)
            return self._signalled(one)
        if found is None:
            self._seek(self.travel.origin.position)
            return Stopped("start")
        return self._arrive_at(found)

    def _past_tells(self, one: Delivery | None) -> bool:
        """Do registers alone tell which of the remembered instructions, all behind delivery ONE,
        hit a breakpoint?"""
        oldest = self._past.oldest() if one is not None else None
        return bool(
            self.schedule.plain
            and (one is None or (oldest is not None and oldest[0].event >= one.event))
            and not (self.points.watchpoints or self.points.faults)
            and can_tell(self.points.breakpoints.values())
        )

    def _recent_hit(self) -> Stopped | None:
        """Goes to the last hit if it is among the remembered instructions."""
        found = self._past.back_to_hit(self.points)
        if found is None:
            return None
        here, gpr, id_ = found
        self._drop_live()
        self._here, self._gpr = here, gpr
        return Stopped("breakpoint", id=id_, addr=gpr.pc)

    def _keep_here(self) -> None:
        """Leaves a snapshot here, so that coming back is cheap."""
        if self._live is not None:
            self.travel.keep_if_worth(self._live)

    def _seek(self, target: Position) -> Stopped:
        if target.moves and isinstance(target.moves[-1], ToEnd):
            target = self.travel.end.position
        walker = self.travel.to(target)
        self._arrive(walker, target)
        return Stopped("seek")

    def _goto_end(self) -> Stopped:
        self._seek(self.travel.end.position)
        end = self.travel.end
        text = self._how_it_ends(end.stop)
        if not end.exact:
            text += f", somewhere after event {end.position.event}; this is right after that event"
        return Stopped("end", text=text)

    def enter_branch(self, point: BranchPoint) -> Stopped:
        """Goes to a kept state of a branch."""
        walker = point.walker.fork()
        self._arrive(walker, point.root)
        self._branch_moved = point.moved
        self._root = Root(point.number, point.root_gpr)
        return Stopped("seek")
