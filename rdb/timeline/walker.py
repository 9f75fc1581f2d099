"""Walker: a replica and its position; it makes moves and checks that each arrived."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from signal import SIGBUS, SIGFPE, SIGILL, SIGSEGV
from weakref import WeakSet

from rdb.replay.agent import FOREVER, AgentClient, Gpr, Stop, StopReason
from rdb.replay.protocol import PASS, RAISES
from rdb.replay.replica import Replica
from rdb.timeline.position import Arrive, Hit, Move, Position, Raised, Steps, ToEnd, WatchHit
from rdb.timeline.stopped import Interrupted, NoSuchPosition, Strayed

ENDED = (StopReason.END, StopReason.FAULT)


def faults_of(signals: Iterable[int]) -> int:
    """These signals for `run` and `step`: they stop before the program handles such a fault."""
    return sum(1 << RAISES + signal for signal in signals)


FAULTS = (SIGILL, SIGBUS, SIGFPE, SIGSEGV)
_INSIST_S = 0.02
_LOOK_S = 0.01
_FAR = 100_000  # events; on a longer way progress is reported
ALL_FAULTS = faults_of(FAULTS)
_MOVE_ID = 0x7264_6201  # id of the watchpoints that moves set


class Control:
    """Shared by all walkers of a timeline: interrupts, and the cost of a fork.

    Several walkers may run at a time, each in its own thread.
    """

    def __init__(self) -> None:
        self.fork_s = 0.001
        self.progress: Callable[[str, float], None] | None = None
        self._running: set[AgentClient] = set()
        # Weak: an agent may be dropped just after its last run.
        self._dropped: WeakSet[AgentClient] = WeakSet()
        self._lock = threading.Lock()
        self._asked = False
        self._idle = threading.Event()
        self._idle.set()

    def interrupt(self) -> None:
        """From a signal handler or another thread: stops the motion under way."""
        self._asked = True
        for running in list(self._running):
            self._stop(running)

    def drop(self, agent: AgentClient) -> None:
        """Ends the run of an agent whose result is not needed, as if interrupted."""
        self._dropped.add(agent)
        self._stop(agent)

    def _stop(self, running: AgentClient) -> None:
        threading.Thread(target=self._insist, args=(running,), daemon=True).start()

    def _insist(self, running: AgentClient) -> None:
        """Interrupts until the run ends: a signal before the replica has begun to run is lost."""
        while self._interrupted(running):
            self._idle.wait(_INSIST_S)

    def _interrupted(self, running: AgentClient) -> bool:
        with self._lock:  # the run that is meant does not end meanwhile, and none begins
            wanted = running in self._running and (self._asked or running in self._dropped)
            if wanted:
                running.interrupt()
        return wanted

    def begin(self) -> None:
        self._asked = False

    def within(
        self,
        limit_s: float,
        motion: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> Stop | None:
        """Runs a motion; None.  If it takes longer than LIMIT_S of CLOCK, it is interrupted, and
        its Stop is returned."""
        late, over, turn = threading.Event(), threading.Event(), threading.Lock()
        began = clock()

        def watch() -> None:
            left_s = limit_s
            while left_s > 0:
                if over.wait(max(left_s, _LOOK_S)):
                    return
                left_s = limit_s - (clock() - began)
            with turn:
                if not over.is_set():
                    late.set()
                    self.interrupt()

        threading.Thread(target=watch, daemon=True).start()
        try:
            motion()
        except Interrupted as interrupted:
            if not late.is_set() or interrupted.stop is None:
                raise
            self.begin()
            return interrupted.stop
        finally:
            with turn:
                over.set()
        if late.is_set():  # the motion had just ended: forget the interrupt
            self.begin()
        return None

    def check(self) -> None:
        if self._asked:
            raise Interrupted

    def note_fork(self, elapsed_s: float) -> None:
        self.fork_s += (elapsed_s - self.fork_s) / 4

    def report(self, what: str, part: float) -> None:
        if self.progress is not None:
            self.progress(what, part)

    def running(self, agent: AgentClient, motion: Callable[[], Stop]) -> Stop:
        with self._lock:
            self._running.add(agent)
            self._idle.clear()
        try:
            self.check()
            if agent in self._dropped:
                raise Interrupted
            stop = motion()
        finally:
            with self._lock:
                self._running.discard(agent)
                self._dropped.discard(agent)
                if not self._running:
                    self._idle.set()
        if stop.reason is StopReason.INTERRUPT:
            raise Interrupted(stop)
        if stop.reason is StopReason.DIVERGED:
            raise Strayed(f"the replay diverged from the recording: {stop.text}", stop)
        return stop


class Walker:
    """A replica at a known position.  `position` is exact after every method but run and step."""

    def __init__(
        self,
        replica: Replica,
        position: Position,
        gpr: Gpr,
        control: Control,
        at_s: float = 0.0,
    ) -> None:
        self.replica = replica
        self.position = position
        self.gpr = gpr
        self.control = control
        self.at_s = at_s  # running time from the start of the recording, approximate
        self.fresh_s = 0.0  # running time since the last snapshot
        self.fork_s = 0.0  # duration of the fork that made this walker
        self.end: Stop | None = None
        self.live_event = position.event  # last event answered, also after run and step

    @property
    def agent(self) -> AgentClient:
        return self.replica.agent

    @property
    def event(self) -> int:
        return self.position.event

    def fork(self) -> Walker:
        began = time.monotonic()
        replica = self.replica.fork()
        elapsed_s = time.monotonic() - began
        self.control.note_fork(elapsed_s)
        copy = Walker(replica, self.position, self.gpr, self.control, self.at_s)
        copy.fork_s = elapsed_s
        copy.end = self.end
        copy.live_event = self.live_event
        return copy

    def close(self) -> None:
        self.replica.close()

    # ---- raw motion: the caller sets `position` ----

    def run(
        self,
        until_event: int = FOREVER,
        until_pc: int = 0,
        until_n: int = 0,
        scan: bool = False,
        thread: int = 0,
        limit: int | None = None,
        faults: int = 0,
    ) -> Stop:
        began = time.monotonic()
        agent = self.agent
        stop = self.control.running(
            agent,
            lambda: agent.run(
                until_event=until_event,
                until_pc=until_pc,
                until_n=until_n,
                scan=scan,
                thread=thread,
                limit=limit,
                faults=faults,
            ),
        )
        return self._moved(stop, began)

    def run_changes(self, until_event: int, addr: int, length: int, most: int) -> Stop:
        began = time.monotonic()
        agent = self.agent
        stop = self.control.running(
            agent, lambda: agent.run_changes(until_event, addr, length, most)
        )
        return self._moved(stop, began)

    def run_lookout(self, until_event: int, lookouts: int) -> Stop:
        began = time.monotonic()
        agent = self.agent
        stop = self.control.running(agent, lambda: agent.run_lookout(until_event, lookouts))
        return self._moved(stop, began)

    def step(
        self,
        count: int = 1,
        trace: bool = False,
        pc: int | None = None,
        n: int = 0,
        blind: bool = True,
        inside: tuple[int, int] | None = None,
        faults: int = 0,
    ) -> Stop:
        began = time.monotonic()
        agent = self.agent
        stop = self.control.running(
            agent,
            lambda: agent.step(
                count, trace=trace, pc=pc, n=n, blind=blind, inside=inside, faults=faults
            ),
        )
        return self._moved(stop, began)

    def _moved(self, stop: Stop, began: float) -> Stop:
        elapsed_s = time.monotonic() - began
        self.at_s += elapsed_s
        self.fresh_s += elapsed_s
        self.gpr = stop.gpr
        self.live_event = stop.event
        self.end = stop if stop.reason in ENDED else None
        return stop

    # ---- motion to positions ----

    def to_event(self, event: int) -> None:
        """Goes to the answer of a later event.  Raises NoSuchPosition."""
        stop = self.run(until_event=event)
        if stop.reason is not StopReason.TARGET or stop.event != event:
            raise NoSuchPosition(f"event {event} is not in the recording: it ends at {stop.event}")
        self.position = Position(event)

    def go(self, target: Position, counting: bool = False) -> None:
        """Goes to a position at or after this one.  COUNTING: counting breakpoints count during
        steps.

        Raises NoSuchPosition; ValueError if `target` is not on the way.
        """
        first = self.event
        while target.event - self.event > _FAR:
            self.to_event(self.event + _FAR)
            self.control.report("seek", (self.event - first) / (target.event - first))
        if target.event > self.event:
            self.to_event(target.event)
        rest = target.after(self.position)
        if rest is None:
            raise ValueError(f"{target} is not on the way from {self.position}")
        for move in rest:
            self.make(move, counting)
        self.position = target

    def make(self, move: Move, counting: bool = False) -> None:
        start = self.position
        match move:
            case Arrive(pc, n):
                self._arrive(pc, n - (self.gpr.pc == pc))
            case Hit(pc, n):
                self._arrive(pc, n)
            case Steps(n):
                stop = self.step(n, blind=not counting)
                arrived = stop.reason is StopReason.TARGET and stop.event == start.event
                self._check(arrived, start, move, stop)
            case WatchHit():
                self._watch(move)
            case Raised(n):
                self._raised(n)
            case ToEnd():
                stop = self.run()
                self._check(stop.reason in ENDED, start, move, stop)
        self.position = start.then(move)

    def _arrive(self, pc: int, n: int) -> None:
        if n == 0:
            return
        stop = self.run(self.event, pc, n)
        arrived = stop.reason is StopReason.TARGET and stop.event == self.event
        self._check(arrived, self.position, Hit(pc, n), stop)

    def _watch(self, move: WatchHit) -> None:
        self.agent.watch(_MOVE_ID, move.addr, move.length, move.kind)
        for _ in range(move.n):
            stop = self.run()
            arrived = stop.reason is StopReason.WATCH and stop.event == self.event
            self._check(arrived, self.position, move, stop)
        self.agent.unwatch(_MOVE_ID)

    def _raised(self, n: int) -> None:
        standing = self.position.raised
        for _ in range(n):
            stop = self.run(faults=ALL_FAULTS | (PASS if standing else 0))
            arrived = stop.reason is StopReason.RAISED and stop.event == self.event
            self._check(arrived, self.position, Raised(n), stop)
            standing = True

    def fault_here(self) -> Stop:
        """What is known of the fault before whose handler this walker, which stays, stands."""
        probe = self.fork()
        try:
            return probe.step(1, faults=ALL_FAULTS)
        finally:
            probe.close()

    @staticmethod
    def _check(arrived: bool, start: Position, move: Move, stop: Stop) -> None:
        if not arrived:
            name = f"{start}{move}" if not isinstance(move, Arrive) else str(start.then(move))
            found = f"{stop.reason.name.lower()} at event {stop.event}, {stop.gpr.rip:#x}"
            raise NoSuchPosition(f"position {name} is not in the recording: {found}")
