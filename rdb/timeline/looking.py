"""Reading the program's state at the position, and changing it, which opens a branch.

After steps back, memory before the instructions comes from the backlog, without a replica.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rdb.errors import RdbError
from rdb.replay.agent import AgentClient, Map, Regs, Stop, StopReason
from rdb.replay.arrays import ArrayFound, ArrayPlan
from rdb.replay.lookout import Lookout
from rdb.replay.protocol import Seen
from rdb.timeline.backlog import Backlog
from rdb.timeline.before import Trace, trace_before
from rdb.timeline.points import Points
from rdb.timeline.position import Position
from rdb.timeline.standing import Standing
from rdb.timeline.travel import END_S
from rdb.undoing import on_failure

_LEGS = 64
_ROWS = 4096  # at most so many rows in one answer
_PROT_WRITE, _PROT_EXEC = 2, 4


class Looking(Standing):
    def registers(self, thread: int = 0) -> Regs:
        """Registers of a thread; 0: of the one that runs next."""
        return self._need_live().agent.get_regs(self._other(thread))

    def set_registers(self, regs: Regs, thread: int = 0) -> None:
        """Changes registers, which opens a branch.  Raises RdbError for a thread that does not run
        next."""
        live, thread = self._need_live(), self._other(thread)
        if live.agent.get_regs(thread) == regs:
            return
        if thread:
            raise RdbError(
                f"cannot change registers of thread {thread}: it does not run here",
                "go to a position where this thread runs",
            )
        self._open_branch()
        live.agent.set_regs(regs)
        self._gpr = live.gpr = live.agent.get_regs().gpr

    def _other(self, thread: int) -> int:
        return 0 if thread == self.thread else thread

    def read_memory(self, addr: int, length: int) -> bytes:
        """The readable bytes at `addr`, up to the first unmapped one."""
        agent = self._text_agent(addr, length)
        if agent is None:
            backlog = self._known_memory()
            if backlog is not None:
                return backlog[0].read(backlog[1], addr, length)
            agent = self._need_live().agent
        return agent.read(addr, length)

    def fold(self, plan: ArrayPlan) -> ArrayFound:
        """The value of an expression over arrays, computed by the agent.  Raises RdbError."""
        found = self._need_live().agent.fold(plan)
        if isinstance(found, int):
            raise RdbError(f"memory at {found:#x} cannot be read")
        return found

    def same_on(
        self,
        lookouts: Sequence[Lookout],
        last: int,
        hear: Callable[[int, list[Seen]], None],
        look: Callable[[float], None],
    ) -> None:
        """Runs a copy from here, the answer of an event, over events while one of LOOKOUTS matches.

        LAST: the last event.  HEAR is called with the last event checked, and with changes of the
        matching lookout or its values.  LOOK is called with the finished part, 0 to 1.
        """
        first = checked = self.event
        walker = self._need_live().fork()
        try:
            for number, one in enumerate(lookouts):
                walker.agent.look_out(number, one)
            leg = max((last - first) // _LEGS, 1)
            rows = 0
            while checked < last and rows < _ROWS:
                look((checked - first) / (last - first))
                stop = walker.run_lookout(min(checked + leg, last), len(lookouts))
                checked, seen = walker.agent.seen()
                hear(checked, seen)
                rows += len(seen)
                if stop.reason not in (StopReason.TARGET, StopReason.OTHER, StopReason.LIMIT):
                    break
                walker.position = Position(stop.event)
                if stop.reason is StopReason.OTHER:
                    self.travel.ahead.leave(walker.fork())
                    break
                self.travel.keep_if_worth(walker)
        finally:
            walker.close()

    def _known_memory(self) -> tuple[Backlog, int] | None:
        """The backlog and the index in it for memory here; None: a replica is needed."""
        if self._live is not None or self._backlog is None or self.branch:
            return None
        index = self._backlog.index(self._here)
        if index is None and self._past and self.schedule.plain:
            self._trace_here()  # what a remembered instruction overwrote is not known
            index = self._backlog.index(self._here) if self._backlog else None
        return None if index is None or self._backlog is None else (self._backlog, index)

    def _trace_here(self) -> None:
        self._past.clear()
        self._drop_backlog()
        trace = trace_before(self.travel, self._here, self._gpr, backlog=True)
        self._remember(trace)
        self._backlog = trace.backlog if trace else None
        if self._backlog is not None:
            self._backlog.end = self._here

    def _remember(self, trace: Trace | None) -> None:
        if trace is not None:
            self._past.extend(trace)

    def write_memory(self, addr: int, data: bytes) -> None:
        """Changes memory, which opens a branch."""
        live = self._need_live()
        if self.read_memory(addr, len(data)) == data:
            return
        self._open_branch()
        live.agent.write(addr, data)

    def maps(self) -> list[Map]:
        return self._need_live().agent.maps()

    def asked(self) -> tuple[int, int, tuple[int, ...]] | None:
        """Kind, number and arguments of the unanswered question at the end of the recording.

        None if there is none, or if the program computes for longer than END_S before it.
        """
        if self.branch or self.event != self.last_event:
            return None
        live = self._need_live()
        copy = live.agent.fork()
        stops: list[Stop] = []
        try:
            live.control.within(
                END_S,
                lambda: stops.append(live.control.running(copy, copy.run)),
                lambda: copy.spent_s,
            )
            return copy.asked() if stops and stops[0].reason is StopReason.END else None
        finally:
            copy.close()

    def hash(self) -> int:
        """The hash of all upper memory and registers, as in LOG_HASH records."""
        return self._need_live().agent.hash()

    def _text_agent(self, addr: int, length: int) -> AgentClient | None:
        """A replica that can be read for program text, which does not change; None: it is no
        text."""
        if self._live is not None or self.branch:
            return None
        if not self._text_maps:
            self._text_maps = [
                one
                for one in self.travel.origin.agent.maps()
                if one.prot & _PROT_EXEC and not one.prot & _PROT_WRITE
            ]
        if any(one.start <= addr and addr + length <= one.end for one in self._text_maps):
            return self.travel.origin.agent
        return None

    # ---- breakpoints and watchpoints ----

    def set_breakpoint(self, id_: int, addr: int, cond: bytes = b"") -> None:
        self.points.set_breakpoint(id_, addr, cond)

    def clear_breakpoint(self, id_: int) -> None:
        self.points.clear_breakpoint(id_)

    def set_watchpoint(self, id_: int, addr: int, length: int, kind: int = 0) -> bool:
        """True: a debug register watches.  False: pages are protected, which is slower but
        exact.  Raises RdbError if the bytes cannot be watched; then nothing is set."""
        self.points.set_watchpoint(id_, addr, length, kind)
        with on_failure(lambda: self.points.clear_watchpoint(id_)):  # else all motions would fail
            self._arm(self._need_live())
        return id_ not in self.points.slow

    def clear_watchpoint(self, id_: int) -> None:
        self.points.clear_watchpoint(id_)

    def exchange_points(self, points: Points) -> Points:
        """Replaces all breakpoints and watchpoints; returns the former ones."""
        before, self.points = self.points, points
        self._armed = -1
        return before
