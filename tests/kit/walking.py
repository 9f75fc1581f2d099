"""A walk along a recording: every move there is, and after each the state is what it was before.

What a canonical position had when somebody first stood there, all registers and the hash of all
memory, is remembered by the recording's `Memory`, over all walks along it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rdb.recording.rank import RankRecording
from rdb.replay.agent import Gpr
from rdb.timeline.position import Position
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

POINTS_MAX = 3
_IN_USE = slice(512, 520)  # of an XSAVE area


@dataclass
class Memory:
    """What is known of a recording's positions."""

    recording: RankRecording
    states: dict[Position, tuple[tuple[Gpr, bytes], int, Position]] = field(default_factory=dict)
    code: list[int] = field(default_factory=list)  # where breakpoints may be
    data: list[int] = field(default_factory=list)  # what may be watched and changed
    moves: int = 0
    compared: int = 0

    def __post_init__(self) -> None:
        """Addresses from all over the recording, the same ones each time."""
        code, data = set(), set()
        with Timeline(self.recording) as timeline:
            first, last = timeline.travel.origin.event, timeline.last_event
            for event in range(first, max(last, first + 1), max((last - first) // 50, 1)):
                timeline.seek(Position(event))
                for _ in range(8):
                    gpr = timeline.gpr
                    code.add(gpr.rip)
                    near = (gpr.rsp, gpr.rsp - 8, gpr.rbp, gpr.rdi, gpr.rax)
                    data |= {one & ~7 for one in near if timeline.read_memory(one & ~7, 8)}
                    timeline.step(True, 11)
        self.code, self.data = sorted(code), sorted(data)

    def learn(self, timeline: Timeline, name: Position, how: str) -> None:
        """Compares with what was there before, or keeps it."""
        registers, hashed, position = contents(timeline), timeline.hash(), timeline.position
        before = self.states.setdefault(name, (registers, hashed, position))
        if before[2] is not position:
            self.compared += 1
            where = f"{how} to {name}: {position} differs from {before[2]}"
            assert registers == before[0], f"{where} in registers"
            assert hashed == before[1], f"{where} in memory"
        self.moves += 1


def contents(timeline: Timeline) -> tuple[Gpr, bytes]:
    """All registers.

    Not which components of the vector state the processor thinks are in use: one that is zero may
    be either, as the processor and what the kernel restored it from will have it (Intel SDM 13.6).
    """
    registers = timeline.registers()
    vector = bytearray(registers.xsave)
    vector[_IN_USE] = bytes(8)
    return registers.gpr, bytes(vector)


class Walk:
    """One timeline, and the user's past on it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.timeline = Timeline(memory.recording)
        self._next_id = 1
        self._breakpoints: list[int] = []
        self._watchpoints: list[int] = []
        self._past: list[tuple[Position, Position]] = []  # exact position, canonical name
        self._at = -1
        self.moved("start")

    def close(self) -> None:
        self.timeline.close()

    def moved(self, how: str, undoable: bool = True) -> Position:
        """The check after every move; `how` is for who reads a failure."""
        timeline = self.timeline
        position, name = timeline.position, timeline.name()
        assert name.canonical, (how, name)
        assert timeline.registers().gpr == timeline.gpr, how
        self.memory.learn(timeline, name, how)
        if undoable:
            del self._past[self._at + 1 :]
            self._past.append((position, name))
            self._at += 1
        return name

    # Moves.

    def step(self, forward: bool, count: int, thread: int | None = None) -> None:
        stopped = self.timeline.step(forward, count, thread=thread)
        self._expect(stopped, "step", "end" if forward else "start", "signal", "gone")
        self.moved("step")

    def step_any_thread(self, forward: bool, index: int) -> None:
        threads = self.timeline.threads()
        self.step(forward, 1, threads[index % len(threads)].number)

    def cont(self, forward: bool) -> None:
        stopped = self.timeline.cont(forward)
        self._expect(stopped, "end" if forward else "start", "signal")
        if stopped.reason == "breakpoint":
            assert self.timeline.gpr.rip == stopped.addr
        self.moved("cont")

    def there_and_back(self, count: int) -> None:
        """So many instructions and as many back lead to where one stood."""
        timeline, schedule = self.timeline, self.timeline.schedule
        before, event = timeline.name(), timeline.event
        made = 0
        while made < count and timeline.step(True).reason == "step":
            made += 1
        self.moved("there")
        passed = range(event, timeline.event + 1)
        if any(schedule.preempted(one) or schedule.idle(one) for one in passed):
            return  # a step forward to where nobody ran is no instruction, and none back
        for _ in range(made + 1):
            if timeline.name() == before:
                break
            assert timeline.step(False).reason in ("step", "watchpoint")
        assert self.moved("and back") == before

    def seek_event(self, index: int) -> None:
        event = index % (self.timeline.last_event + 1)
        first = self.timeline.travel.origin.event
        self.timeline.seek(Position(max(event, first)))
        assert self.moved("seek an event") == Position(max(event, first))

    def seek_name(self, index: int) -> None:
        """By the name of a place where one stood before."""
        name = self._past[index % len(self._past)][1]
        self.timeline.seek(Position.parse(str(name)))
        assert self.moved("seek a name") == name

    def goto_end(self) -> None:
        assert self.timeline.goto_end().reason == "end"
        self.moved("end")

    def goto_start(self) -> None:
        self.timeline.goto_start()
        assert self.timeline.at_start
        self.moved("start")

    def undo(self, count: int) -> None:
        self._go_in_past(max(self._at - count, 0))

    def redo(self, count: int) -> None:
        self._go_in_past(min(self._at + count, len(self._past) - 1))

    def _go_in_past(self, at: int) -> None:
        self._at = at
        position, name = self._past[at]
        self.timeline.seek(position)
        assert self.moved("undo or redo", undoable=False) == name

    def branch(self, index: int, steps: int) -> None:
        """Changes memory, goes on in what is not the recording, and gives it up."""
        timeline = self.timeline
        before = timeline.name()
        address = self.memory.data[index % len(self.memory.data)]
        old = timeline.read_memory(address, 1)
        if not old:
            return
        timeline.write_memory(address, bytes([old[0] ^ 0x55]))
        assert timeline.branch
        if steps:
            timeline.step(True, steps)
        timeline.seek(timeline.position)
        assert not timeline.branch
        assert self.moved("branch") == before

    # Breakpoints and watchpoints.

    def break_at(self, index: int) -> None:
        if len(self._breakpoints) >= POINTS_MAX:
            self.timeline.clear_breakpoint(self._breakpoints.pop(0))
        self.timeline.set_breakpoint(self._next_id, self.memory.code[index % len(self.memory.code)])
        self._breakpoints.append(self._next_id)
        self._next_id += 1

    def watch(self, index: int, length: int, kind: int) -> None:
        if len(self._watchpoints) >= POINTS_MAX:
            self.timeline.clear_watchpoint(self._watchpoints.pop(0))
        self.timeline.set_watchpoint(
            self._next_id, self.memory.data[index % len(self.memory.data)], length, kind
        )
        self._watchpoints.append(self._next_id)
        self._next_id += 1

    def clear(self) -> None:
        for id_ in self._breakpoints:
            self.timeline.clear_breakpoint(id_)
        for id_ in self._watchpoints:
            self.timeline.clear_watchpoint(id_)
        self._breakpoints, self._watchpoints = [], []

    def _expect(self, stopped: Stopped, *reasons: str) -> None:
        assert stopped.reason in (*reasons, "breakpoint", "watchpoint"), stopped
        if stopped.reason == "breakpoint":
            assert stopped.id in self._breakpoints
        if stopped.reason == "watchpoint":
            assert stopped.id in self._watchpoints
