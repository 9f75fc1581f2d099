"""The user's breakpoints and watchpoints, which are set in each replica before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.replay.agent import AgentClient, StopReason
from rdb.timeline.position import Position
from rdb.timeline.walker import Walker

_JUMP_LENGTH = 5  # jmp rel32
_AWAY = 64  # bytes from the breakpoint; more than the longest instruction


class Breakpoint(NamedTuple):
    addr: int
    cond: bytes


class Watchpoint(NamedTuple):
    addr: int
    length: int
    kind: int


class Until(NamedTuple):
    """A motion to the next stop, forward or back, ends at `position` at the latest; PASSED: hits of
    watchpoints on the way do not count, and the motion goes on from there."""

    position: Position
    forward: bool
    passed: bool


class Points:
    """Breakpoints and watchpoints by id.  Ids are nonzero, and common to both."""

    def __init__(self) -> None:
        self.breakpoints: dict[int, Breakpoint] = {}
        self.watchpoints: dict[int, Watchpoint] = {}
        self.version = 0
        self.until: Until | None = None
        # At which faults that the program handles it stops (walker.py, faults_of).
        self.faults = 0
        self.slow: set[int] = set()  # watchpoints that no debug register holds

    def __bool__(self) -> bool:
        return bool(self.breakpoints or self.watchpoints or self.faults)

    def set_breakpoint(self, id_: int, addr: int, cond: bytes) -> None:
        self.breakpoints[id_] = Breakpoint(addr, cond)
        self.version += 1

    def clear_breakpoint(self, id_: int) -> None:
        if self.breakpoints.pop(id_, None) is not None:
            self.version += 1

    def set_watchpoint(self, id_: int, addr: int, length: int, kind: int) -> None:
        self.watchpoints[id_] = Watchpoint(addr, length, kind)
        self.version += 1

    def clear_watchpoint(self, id_: int) -> None:
        if self.watchpoints.pop(id_, None) is not None:
            self.slow.discard(id_)
            self.version += 1

    def arm(self, agent: AgentClient) -> None:
        """Sets exactly these points in a replica."""
        agent.clear_break(None)
        agent.unwatch(None)
        for id_, breakpoint_ in self.breakpoints.items():
            agent.set_break(id_, breakpoint_.addr, stop=True, cond=breakpoint_.cond)
        self.arm_watchpoints(agent)

    def arm_watchpoints(self, agent: AgentClient) -> None:
        for id_, watch in self.watchpoints.items():
            if agent.watch(id_, watch.addr, watch.length, watch.kind):
                self.slow.discard(id_)
            else:
                self.slow.add(id_)

    def standing_at(self, walker: Walker) -> int | None:
        """The id of a breakpoint at the walker's pc whose condition is true; None: there is
        none."""
        here = [item for item in self.breakpoints.items() if item[1].addr == walker.gpr.pc]
        for id_, breakpoint_ in here:
            if not breakpoint_.cond or _holds(walker, breakpoint_):
                return id_
        return None


def _holds(walker: Walker, breakpoint_: Breakpoint) -> bool:
    """Is the condition true at the walker's position?

    Only the agent evaluates conditions, and only on arrival.  So a fork executes a jump to the
    breakpoint's address.
    """
    probe = walker.fork()
    try:
        agent = probe.agent
        for away in _rooms(agent, breakpoint_.addr):
            offset = breakpoint_.addr - (away + _JUMP_LENGTH)
            agent.write(away, b"\xe9" + offset.to_bytes(4, "little", signed=True))
            regs = agent.get_regs()
            regs.gpr = regs.gpr.at(away)
            agent.set_regs(regs)
            agent.set_break(1, breakpoint_.addr, stop=True, cond=breakpoint_.cond)
            stop = probe.step(2, blind=False)
            return stop.reason is StopReason.BREAK and stop.gpr.pc == breakpoint_.addr
        raise RdbError(f"no room near {breakpoint_.addr:#x} to evaluate a condition")
    finally:
        probe.close()


def _rooms(agent: AgentClient, addr: int) -> Iterator[int]:
    for away in (addr + _AWAY, addr - _AWAY):
        if len(agent.read(away, _JUMP_LENGTH)) == _JUMP_LENGTH:
            yield away
