"""Moves of the rank: resume packets and seeks."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Callable

from rdb.errors import RdbError
from rdb.recording.log.record import signal_name
from rdb.server.breakpoints import Breakpoints
from rdb.server.noticed import Noticed
from rdb.server.stop_points import StopPoint, StopPoints
from rdb.server.stops import HIDDEN, gdb_signal
from rdb.server.threads import Threads, parse_thread
from rdb.timeline.position import Position
from rdb.timeline.signals import Heard
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

Move = Callable[[], Stopped]


class Motion:
    def __init__(self, timeline: Timeline, points: Breakpoints, threads: Threads) -> None:
        self.timeline = timeline
        self._threads = threads
        self.points = points
        self.stop_points = StopPoints(timeline)
        self._interrupted = threading.Event()
        self.trouble: RdbError | None = None
        """Why the last request for memory or registers failed; GDB only hears that they cannot be
        read."""
        self.passed: frozenset[int] = HIDDEN
        """Signals of whose delivery the client need not hear."""
        self.passed_faults = HIDDEN
        """The same for faults of instructions."""
        self.lines: list[tuple[int, int]] = []
        """Code from where one line begins to where the next does, ascending, while GDB steps back
        by lines: in the midst of one GDB asks for one more step whatever it finds there."""
        self._told_of_signals = False
        self._shown = 0, -1  # the signal of the last stop, and its serial
        self.noticed: Noticed | None = None
        """Notes what GDB reads, if an evaluation is being watched."""

    def changed(self) -> None:
        """Call it when the rank was moved or changed: the present state is a new stop point."""
        self.noticed = None
        self.stop_points.changed()

    def stop_point(self) -> StopPoint:
        return self.stop_points.here()

    def pass_signals(self, passed: frozenset[int]) -> None:
        """While GDB steps over a breakpoint it passes none.  If it then heard of a fault it would
        take the breakpoint there for its own until the handler returns, and a handler of faults may
        jump elsewhere.  So faults that are passed otherwise are passed there, too."""
        self.passed = passed
        if passed != HIDDEN:
            self.passed_faults = passed

    def interrupt(self) -> None:
        self._interrupted.set()
        self.timeline.interrupt()

    def resume(self, packet: bytes) -> Move | None:
        """The move that a resume packet asks for; None: it is no known resume packet."""
        if packet.startswith(b"vCont;"):
            try:
                return self._actions([one.partition(b":") for one in packet[6:].split(b";")])
            except ValueError:
                return None
        if packet == b"bs":
            thread = self._threads.stepped
            return self._moving(lambda: self._step_back(thread))
        if packet == b"bc":
            return self._moving(lambda: self.timeline.cont(False))
        if packet.startswith((b"vRun;", b"R")):  # `run` goes to the start of the recording
            return self._moving(self.timeline.goto_start)
        if re.fullmatch(rb"[cs]|[CS][0-9a-fA-F]{2}", packet):
            return self._action(packet, self._threads.stepped, alone=False)
        return None

    def _actions(self, actions: list[tuple[bytes, bytes, bytes]]) -> Move | None:
        """The move of a vCont packet.  The first step action decides which thread steps; if it is
        the only action, other threads do not run."""
        for action, colon, thread in actions:
            if action[:1] in (b"s", b"S", b"r"):
                one = bool(colon) and thread != b"-1" and not thread.endswith(b".-1")
                stepped = parse_thread(thread) if one else self._threads.selected
                return self._action(action, stepped, alone=one and len(actions) == 1)
        return self._action(actions[0][0], 0, alone=False)

    def _action(self, action: bytes, thread: int, alone: bool) -> Move | None:
        given = int(action[1:3], 16) if action[:1] in (b"C", b"S") else 0
        if action[:1] in (b"c", b"C"):
            return self._moving(lambda: self.timeline.cont(True), given=given)
        if action[:1] in (b"s", b"S"):
            return self._moving(
                lambda: self.timeline.step(True, thread=thread, alone=alone), thread, given
            )
        if action[:1] == b"r":
            try:
                start, end = (int(word, 16) for word in action[1:].split(b","))
            except ValueError:
                return None
            return self._moving(lambda: self._step_range(start, end, thread, alone), thread)
        return None

    def _moving(self, move: Move, stepped: int = 0, given: int | None = None) -> Move:
        """STEPPED: the thread that steps.  GIVEN: the signal with which the program is to go on, as
        GDB numbers it; None: nothing was said of it."""

        def run() -> Stopped:
            self._interrupted.clear()
            before = self.stop_points.serial, self.timeline.gpr
            self.changed()
            self.points.arm()
            if given is not None:
                self._check_given(given, before[0])
            self.timeline.heard = Heard(self.passed, self.passed_faults, stepped)
            try:
                stopped = move()
            finally:
                self.timeline.heard = None
            shown = stopped.signal if stopped.reason == "signal" else 0
            self._shown = shown, self.stop_points.serial
            if stopped.reason == "diverged" and self.timeline.gpr == before[1]:
                self.stop_points.serial = before[0]  # the branch did not move
            return stopped

        return run

    def _step_back(self, thread: int) -> Stopped:
        """One step; inside a line that GDB steps back through, as many as GDB would ask for."""
        timeline, pc = self.timeline, self.timeline.gpr.pc
        line = bisect_left(self.lines, (pc, 0)) - 1  # the last one that begins before pc
        if line < 0 or thread != timeline.thread or not timeline.steps_inside:
            return timeline.step(False, thread=thread)
        start, end = self.lines[line]
        if pc >= end or self.points.watches:
            return timeline.step(False, thread=thread)
        return timeline.step_back_inside(start + 1, end)

    def _check_given(self, given: int, serial: int) -> None:
        """Signals come from the recording only: says so once if GDB gives another one than that of
        the stop here.  SERIAL: of the present state."""
        shown, at = self._shown
        here = shown if at == serial else 0
        # GDB was not told of a new stop
        repeated = at != serial and given in (0, gdb_signal(shown))
        if repeated or given == gdb_signal(here) or self._told_of_signals:
            return
        self._told_of_signals = True
        if self.points.say is not None:
            instead = signal_name(here) if here else "none"
            self.points.say(
                f"rdb: a replay delivers the signals that were recorded: {instead} here\n"
            )

    def _step_range(self, start: int, end: int, thread: int, alone: bool) -> Stopped:
        timeline = self.timeline
        if thread == timeline.thread and timeline.steps_inside:
            return timeline.step_inside(start, end)
        while True:
            stopped = timeline.step(True, thread=thread, alone=alone)
            pc = timeline.gpr.pc
            inside = timeline.thread == thread and start <= pc < end
            # GDB itself sees what breakpoint is there, as after a single step.
            if stopped.reason != "step" or not inside or self.points.breaks_at(pc):
                return stopped
            if self._interrupted.is_set():
                return Stopped("interrupt")

    def seek(self, text: str) -> Stopped:
        """Goes to START, END, a position, or `@N` (stop point N).  Raises Usage for another text.

        If the seek is interrupted, the rank stays at its position.
        """
        word = text.strip()
        self._interrupted.clear()
        if word.startswith("@"):
            return self.stop_points.seek(word)
        self.changed()
        stopped: Stopped
        if word.upper() == "START":
            stopped = self.timeline.goto_start()
        elif word.upper() == "END":
            stopped = self.timeline.goto_end()
        else:
            stopped = self.timeline.seek(Position.parse(word))
        return stopped

    def renew(self) -> None:
        """Takes in what has been recorded since."""
        self.stop_points.name_end()
        self.timeline.renew()

    def last_change(self, addr: int, length: int, kind: int) -> Stopped | None:
        """Goes back to just before the last change of these bytes, or access of that KIND.

        None: there is none; the rank does not move.
        """
        self._interrupted.clear()
        found = self.timeline.last_change(addr, length, kind)
        if found is None:
            return None
        self.changed()
        return self.timeline.seek(found)

    def next_event(self) -> int | None:
        """The event that the next instruction makes; None: it makes none.  The rank does not
        move."""
        here = self.timeline.position
        before = self.timeline.event
        self.timeline.step(True)
        after = self.timeline.event
        self.timeline.seek(here)
        return after if after > before else None
