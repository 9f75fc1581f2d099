"""Going forward: a step, to the next stop, to the end."""

from __future__ import annotations

from rdb.errors import Diverged, RdbError
from rdb.replay.agent import FOREVER, Stop, StopReason
from rdb.timeline.looking import Looking
from rdb.timeline.position import Arrive, Hit, Position, Steps, WatchHit
from rdb.timeline.stopped import Stopped
from rdb.timeline.walker import ENDED, Walker

_SIGNALLED = 2  # enum log_end


class Forward(Looking):
    def _step_forward(self) -> Stopped:
        live = self._need_live()
        self._arm(live)
        came_from = (self._here, 0, self._gpr)
        stop = live.step(1, blind=False)
        if self.branch and stop.steps == 0 and stop.reason is StopReason.END:
            self._not_asked(live)
            return self._ended(stop, moved=True)
        answered = stop.event != came_from[0].event
        if answered:
            self._commit_live(live, Position(stop.event))
        elif stop.steps == 0:
            if not self.branch:
                self._drop_live()  # it is behind the instruction's first half
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

    def _not_asked(self, live: Walker) -> None:
        """A system call without an answer was not made: what its instruction overwrites is back."""
        registers = live.agent.get_regs()
        before = self._gpr
        registers.gpr = registers.gpr._replace(rcx=before.rcx, r11=before.r11)
        live.agent.set_regs(registers)
        self._gpr = live.gpr = live.agent.get_regs().gpr

    def _none_ran(self, event: int) -> bool:
        """A thread was stopped or goes on, in this step to an event: that is no instruction."""
        schedule = self.schedule
        return event > 0 and (schedule.preempted(event) or schedule.idle(event - 1))

    def _cont_forward(self) -> Stopped:
        return self._run()

    def _run(self, until_event: int = FOREVER, thread: int = 0) -> Stopped:
        live = self._need_live()
        if not self.branch:
            self.travel.keep_if_worth(live)
        self._arm(live)
        stop = live.run(until_event=until_event, thread=thread)
        self._past.clear()
        same = stop.event == self._here.event
        base = self._here if same else Position(stop.event)
        match stop.reason:
            case StopReason.TARGET:
                self._commit_live(live, base)
                return Stopped("step")
            case StopReason.BREAK:
                pc, n = stop.gpr.rip, stop.hits
                self._commit_live(live, base.then(Hit(pc, n) if same else Arrive(pc, n)))
                return Stopped("breakpoint", id=stop.id, addr=pc)
            case StopReason.WATCH:
                watch = self.points.watchpoints[stop.id]
                hit = WatchHit(watch.addr, watch.length, watch.kind, 1)
                self._commit_live(live, Position(stop.event) if stop.by_event else base.then(hit))
                return self._watch_stop(stop)
            case StopReason.END | StopReason.FAULT:
                return self._run_to_end(live, stop)
        raise RdbError(f"the replica stopped for an unexpected reason: {stop.reason!r}")

    def _run_to_end(self, live: Walker, stop: Stop) -> Stopped:
        if self.branch:
            self._commit_live(live, self._here)
            return self._ended(stop, moved=True)
        if stop.event != self.last_event:
            raise Diverged(f"the replay ended after event {stop.event}, not {self.last_event}")
        moved = not self.at_end
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
            kind, value = _SIGNALLED, stop.signal
        texts = {
            0: "the recording has no more (the rank was killed, or still runs)",
            1: f"exits with code {value}",
            _SIGNALLED: f"ends by signal {value}",
            3: "the recording stops at a call that rdb does not support",
            4: "the recording stops: the disk was full",
            5: "replaced by execve",
        }
        return texts.get(kind, f"end {kind}")
