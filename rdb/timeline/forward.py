"""Going forward: by a step, to the next stop, to the end."""

from __future__ import annotations

from rdb.errors import Diverged, RdbError
from rdb.recording.log.record import End, EndKind
from rdb.replay.agent import FOREVER, Gpr, Stop, StopReason
from rdb.timeline import scan
from rdb.timeline.looking import Looking
from rdb.timeline.points import Points
from rdb.timeline.position import Arrive, Hit, Position, Raised, Steps, WatchHit
from rdb.timeline.signals import Delivery
from rdb.timeline.stopped import Interrupted, Stopped
from rdb.timeline.walker import ENDED, Walker

_INSIDE = 1 << 20  # steps that a replica makes without an answer


class Forward(Looking):
    def _step_forward(self) -> Stopped:
        due = self._due()
        if due is not None:
            return due
        live = self._need_live()
        self._arm(live)
        came_from = (self._here, 0, self._gpr)
        stop = live.step(1, blind=False, faults=self._faults())
        if stop.reason is StopReason.RAISED:
            self._commit_live(live, self._here.then(Raised(1)))
            return self._at_fault(stop)
        if self.branch and stop.steps == 0 and stop.reason is StopReason.END:
            self._not_asked(live)
            return self._ended(stop, moved=True)
        answered = stop.event != came_from[0].event
        if answered:
            self._commit_live(live, Position(stop.event))
        elif stop.steps == 0:
            if not self.branch:
                self._drop_live()  # it has made a part of the instruction
            return self._ended(stop, moved=True)
        else:
            self._commit_live(live, self._here.then(Steps(1)))
        if not self.branch and not (answered and self._none_ran(stop.event)):
            self._past.append(came_from)
        if stop.reason is StopReason.WATCH:
            return self._watch_stop(stop)
        if stop.reason in ENDED:
            return self._ended(stop, moved=True)
        return Stopped("step")

    def _step_inside(self, first: int, end: int) -> Stopped:
        """Steps until the program leaves these addresses, or meets a stop.  Not in a branch."""
        while True:
            stopped = self._due() or self._steps_inside(first, end)
            if stopped.reason != "step" or not first <= self._gpr.pc < end:
                return stopped

    def _steps_inside(self, first: int, end: int) -> Stopped:
        """A part of these steps: at most up to the next event."""
        since = self._here
        live = self._need_live()
        self._arm(live)
        try:
            stop = live.step(
                _INSIDE,
                trace=True,
                blind=False,
                inside=(first, end),
                faults=self._faults(),
            )
        except Interrupted as interrupted:
            if interrupted.stop is None or interrupted.stop.steps == 0:
                raise
            stop = interrupted.stop  # whole steps: it stays there, as under GDB alone
            live.gpr, live.live_event = stop.gpr, stop.event
        if stop.reason in ENDED:
            self._drop_live()  # it has made a part of the last instruction
            whole = stop.steps - (stop.event != since.event)
            if whole == 0:
                return self._step_forward()
            live = self._need_live()
            self._arm(live)
            stop = live.step(whole, trace=True, blind=False)
        answered = stop.event != since.event
        here = since.then(Steps(stop.steps)) if stop.steps else since
        if stop.reason is StopReason.RAISED:
            here = here.then(Raised(1))
        self._commit_live(live, Position(stop.event) if answered else here)
        if len(stop.trace) < stop.steps:
            self._past.clear()
        made = list(enumerate(stop.trace, start=stop.steps - len(stop.trace)))
        for index, gpr in made[:-1] if answered and self._none_ran(stop.event) else made:
            self._past.append((since, index, gpr))
        if stop.reason is StopReason.WATCH:
            return self._watch_stop(stop)
        if stop.reason is StopReason.BREAK:
            return Stopped("breakpoint", id=stop.id, addr=stop.gpr.pc)
        if stop.reason is StopReason.RAISED:
            return self._at_fault(stop)
        return Stopped("interrupt" if stop.reason is StopReason.INTERRUPT else "step")

    def _not_asked(self, live: Walker) -> None:
        """Restores the registers that a system call without an answer has overwritten."""
        registers = live.agent.get_regs()
        before = self._gpr
        registers.gpr = registers.gpr.before_call(before)
        live.agent.set_regs(registers)
        self._gpr = live.gpr = live.agent.get_regs().gpr

    def _none_ran(self, event: int) -> bool:
        """Is this step to an event only a PREEMPT record or a switch, without an instruction?"""
        schedule = self.schedule
        return event > 0 and (schedule.preempted(event) or schedule.idle(event - 1))

    def _cont_forward(self) -> Stopped:
        return self._due() or self._to_until(forward=True) or self._run()

    def _delivery(self, forward: bool) -> Delivery | None:
        """The next delivery on the way at which a motion stops."""
        if self.heard is None:
            return None
        if forward:  # that of the next event is due here, or was told
            return self.deliveries.first(self.heard, self.live_event + 2)
        return self.deliveries.last(self.heard, self.event)

    def _to_until(self, forward: bool) -> Stopped | None:
        """Goes to the user's limit (`Until`) or to a hit before it; None: there is no limit, or go
        on from here to the next hit."""
        until = self.points.until
        if until is None or until.forward != forward or self.branch:
            return None
        points = self.points
        if until.passed:
            points.until = None
            points = Points()
            points.breakpoints, points.faults = self.points.breakpoints, self.points.faults
        target, one = until.position, self._delivery(forward)
        if one is not None and forward != (one.event > target.event):
            target = one.position
        walker = self.travel.to(target)
        ends = [(self._here, self._gpr), (target, walker.gpr)]
        first, last = ends if forward else reversed(ends)
        found = self._hit_since(points, first, last)
        if found is None:
            self._arrive(walker, target)
            if one is not None and target is not until.position:
                return self._signalled(one)
            return None if until.passed else Stopped("until")
        walker.close()
        if not forward:
            return self._arrive_at(found)
        if found.walker is not None:
            found.walker.close()
        before = self.exchange_points(points)
        try:
            return self._run()
        finally:
            self.exchange_points(before)

    def _hit_since(
        self, points: Points, since: tuple[Position, Gpr], until: tuple[Position, Gpr]
    ) -> scan.Found | None:
        """The last hit strictly between two positions."""
        start = self.travel.name(since[0], since[1].pc)
        if start == self.travel.name(until[0], until[1].pc):
            return None
        found = scan.last_hit_since(self.travel, points, since[0], *until)
        if found is None or self.travel.name(found.position, found.gpr.pc) != start:
            return found
        if found.walker is not None:
            found.walker.close()
        return None

    def _arrive_at(self, found: scan.Found) -> Stopped:
        self._past.clear()
        self._drop_live()
        self._here, self._gpr, self._live = found.position, found.gpr, found.walker
        if found.signal:
            assert self._live is not None
            return self._at_fault(self._live.fault_here())
        if not found.watch:
            return Stopped("breakpoint", id=found.id, addr=found.gpr.pc)
        watch = self.points.watchpoints[found.id]
        return Stopped(
            "watchpoint", id=found.id, addr=watch.addr, thread=found.thread, by_event=found.by_event
        )

    def _arrive(self, walker: Walker, position: Position) -> None:
        self._branch_moved = None
        self._drop_live()
        self._past.clear()
        self._live, self._here, self._gpr = walker, position, walker.gpr

    def _run(self, thread: int = 0) -> Stopped:
        """Runs to the next stop, or until this thread runs."""
        due = self._due()
        if due is not None:
            return due
        one = self._delivery(forward=True)
        until_event = FOREVER if one is None else one.event - 1
        runs = self.schedule.next_run(thread, self.live_event) if thread else None
        if runs is not None and runs <= until_event:
            until_event = self.live_event
        else:
            thread = 0
        live = self._need_live()
        if not self.branch:
            self.travel.keep_if_worth(live)
        self._arm(live)
        stop = live.run(until_event=until_event, thread=thread, faults=self._faults())
        self._past.clear()
        same = stop.event == self._here.event
        base = self._here if same else Position(stop.event)
        match stop.reason:
            case StopReason.TARGET:
                self._commit_live(live, base)
                return Stopped("step") if thread or one is None else self._signalled(one)
            case StopReason.BREAK:
                pc, n = stop.gpr.pc, stop.hits
                self._commit_live(live, base.then(Hit(pc, n) if same else Arrive(pc, n)))
                return Stopped("breakpoint", id=stop.id, addr=pc)
            case StopReason.WATCH:
                watch = self.points.watchpoints[stop.id]
                hit = WatchHit(watch.addr, watch.length, watch.kind, 1)
                self._commit_live(live, Position(stop.event) if stop.by_event else base.then(hit))
                return self._watch_stop(stop)
            case StopReason.RAISED:
                self._commit_live(live, base.then(Raised(stop.hits)))
                return self._at_fault(stop)
            case StopReason.END | StopReason.FAULT:
                return self._run_to_end(live, stop)
        raise RdbError(f"the replica stopped for an unexpected reason: {stop.reason!r}")

    def _run_to_end(self, live: Walker, stop: Stop) -> Stopped:
        if self.branch:
            self._commit_live(live, self._here)
            return self._ended(stop, moved=True)
        if stop.event != self.last_event:
            raise Diverged(f"the replay ended after event {stop.event}, not {self.last_event}")
        # A fault that was told before its handler is the end, too, if the handler cannot begin.
        told = self._here.raised and stop.gpr == self._gpr
        moved = not (self.at_end or told)
        self._drop_live()
        self._here, self._gpr = self.travel.end.position, self.travel.end.gpr
        return self._ended(stop, moved)

    def _watch_stop(self, stop: Stop) -> Stopped:
        return Stopped("watchpoint", id=stop.id, addr=stop.addr, by_event=bool(stop.by_event))

    def _ended(self, stop: Stop, moved: bool) -> Stopped:
        if stop.reason is StopReason.FAULT and moved:
            return Stopped("signal", addr=stop.addr, signal=stop.signal)
        return Stopped("end", signal=stop.signal, text=self._how_it_ends(stop))

    def _how_it_ends(self, stop: Stop) -> str:
        kind, value = stop.end_kind, stop.end_value
        if stop.reason is StopReason.FAULT:
            kind, value = EndKind.SIGNAL, stop.signal
        if not kind:
            return "no further event was recorded (the rank was killed, or still runs)"
        if kind == EndKind.EXIT:
            return f"exits with code {value}"
        if kind == EndKind.SIGNAL:
            return f"ends by signal {value}"
        end = self.recording.end if self.recording is not None else None
        return End(EndKind(kind), value, end.text if end is not None else "").state
