"""A timeline without the C core: a program single-stepped under ptrace once, kept state by state.

For tests of the server and the GDB extension alone: every state of a small static program from its
entry point to its end is in memory, so every motion is exact and simple.  Events are system calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rdb.recording.log.threads import RecordedThread, Schedule
from rdb.replay.agent import AgentError, Gpr, Regs, Thread, ThreadState
from rdb.replay.protocol import Op
from rdb.timeline.points import Points
from rdb.timeline.position import Position, Steps
from rdb.timeline.stopped import Stopped
from rdb.timeline.walker import Control

_PTRACE_TRACEME, _PTRACE_KILL, _PTRACE_SINGLESTEP, _PTRACE_GETREGS = 0, 8, 9, 12
# struct user_regs_struct (sys/user.h)
_USER = (
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx"),
    *("rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base"),
    *("ds", "es", "fs", "gs"),
)
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass
class State:
    gpr: Gpr
    memory: dict[int, bytes]  # page -> bytes, of writable pages
    event: int


@dataclass
class Trace:
    """All states of one run."""

    program: Path
    entry: int = 0
    states: list[State] = field(default_factory=list)
    text: list[tuple[int, bytes]] = field(default_factory=list)
    auxv: bytes = b""


def trace(program: Path, limit: int = 20000) -> Trace:
    """Runs a static program to its end, keeping every state."""
    pid = os.fork()
    if pid == 0:
        _libc.ptrace(_PTRACE_TRACEME, 0, None, None)
        _libc.personality(0x0040000)  # ADDR_NO_RANDOMIZE
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(program, [str(program)], {})
    os.waitpid(pid, 0)
    result = Trace(program, auxv=Path(f"/proc/{pid}/auxv").read_bytes())
    for key, value in struct.iter_unpack("<QQ", result.auxv):
        if key == 9:
            result.entry = value
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        _trace(pid, memory, result, limit)
    finally:
        os.close(memory)
    return result


def _trace(pid: int, memory: int, result: Trace, limit: int) -> None:
    pages: dict[int, bytes] = {}
    event = 0
    writable: list[tuple[int, int]] = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, prot = line.split()[:2]
        start, end = (int(word, 16) for word in span.split("-"))
        if "vsyscall" in line or "vvar" in line:
            continue
        if "w" in prot:
            writable.append((max(start, end - 16384), end))
        else:
            result.text.append((start, os.pread(memory, end - start, start)))
    while len(result.states) < limit:
        registers = (ctypes.c_ulonglong * 27)()
        _libc.ptrace(_PTRACE_GETREGS, pid, None, ctypes.addressof(registers))
        gpr = Gpr(**dict(zip(_USER, registers, strict=True)))
        now: dict[int, bytes] = {}
        for start, end in writable:
            data = os.pread(memory, end - start, start)
            for offset in range(0, len(data), 4096):
                page = data[offset : offset + 4096]
                old = pages.get(start + offset)
                now[start + offset] = old if old == page else page
        pages = now
        result.states.append(State(gpr, now, event))
        code = os.pread(memory, 2, gpr.rip)
        _libc.ptrace(_PTRACE_SINGLESTEP, pid, None, None)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return
        if os.WSTOPSIG(status) != signal.SIGTRAP:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        if code == b"\x0f\x05":
            event += 1
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@dataclass
class FakePoint:
    """What `keep_branch` gives."""

    index: int
    changed: dict[int, int]
    new_regs: Any

    def close(self) -> None:
        """No process is behind it."""


class FakeTimeline:
    steps_inside = False
    heard = delivery = None
    signalled = 0

    def __init__(self, run: Trace) -> None:
        self.run = run
        self.control = Control()
        self.index = 0
        self.breakpoints: dict[int, int] = {}
        self.watchpoints: dict[int, tuple[int, int]] = {}
        self.changed: dict[int, int] = {}
        self.new_regs: Regs | None = None
        self.lost: list[str] = []
        self.parked: dict[int, Gpr] = {}  # other threads: they never run
        self.stepped: list[tuple[int | None, bool]] = []  # thread, alone
        first = run.states[0].gpr
        self.hello = SimpleNamespace(
            entry=run.entry, auxv_addr=self._auxv_addr(first.rsp), auxv_len=len(run.auxv)
        )

    def _auxv_addr(self, rsp: int) -> int:
        at = rsp + 16  # argc, argv[0]
        while self._word(at):
            at += 8
        at += 8
        while self._word(at):
            at += 8
        return at + 8

    def _word(self, addr: int) -> int:
        return int.from_bytes(self.read_memory(addr, 8), "little")

    @property
    def state(self) -> State:
        return self.run.states[self.index]

    @property
    def position(self) -> Position:
        return Position(0, (Steps(self.index),) if self.index else ())

    def name(self) -> Position:
        state = self.state
        count, index = 0, self.index
        while index >= 0 and self.run.states[index].event == state.event:
            count += self.run.states[index].gpr.rip == state.gpr.rip
            index -= 1
        return Position.at(state.event, state.gpr.rip, count)

    @property
    def event(self) -> int:
        return self.state.event

    @property
    def branch(self) -> bool:
        return bool(self.changed) or self.new_regs is not None

    @property
    def branch_number(self) -> int:
        return int(self.branch)

    @property
    def live_event(self) -> int:
        return self.event

    def keep_branch(self) -> Any:
        return FakePoint(self.index, dict(self.changed), self.new_regs)

    def enter_branch(self, point: Any) -> Stopped:
        self.index, self.changed, self.new_regs = point.index, dict(point.changed), point.new_regs
        return Stopped("seek")

    @property
    def at_start(self) -> bool:
        return self.index == 0

    @property
    def at_end(self) -> bool:
        return self.index == len(self.run.states) - 1

    end_known = True

    @property
    def gpr(self) -> Gpr:
        return self.registers().gpr

    @property
    def thread(self) -> int:
        return self.gpr.thread

    def threads(self) -> list[Thread]:
        me = Thread(1, 4711, ThreadState.RUNNING, self.gpr.rip, "")
        return [me] + [
            Thread(number, 4710 + number, ThreadState.PARKED, gpr.rip, "worker")
            for number, gpr in self.parked.items()
        ]

    def registers(self, thread: int = 0) -> Regs:
        if thread in self.parked:
            return Regs(self.parked[thread], b"")
        if thread not in (0, 1):
            raise AgentError(Op.GETREGS, errno.ESRCH)
        return self.new_regs or Regs(self.state.gpr, b"")

    def set_registers(self, regs: Any, thread: int = 0) -> None:
        if thread in self.parked:
            self.parked[thread] = regs.gpr
        else:
            self.new_regs = regs

    def _bytes(self, index: int, addr: int, length: int) -> bytes:
        out = bytearray()
        while len(out) < length:
            at = addr + len(out)
            page = self.run.states[index].memory.get(at & ~4095)
            if page is not None:
                out += page[at & 4095 :]
                continue
            text = next((t for t in self.run.text if t[0] <= at < t[0] + len(t[1])), None)
            if text is None:
                break
            out += text[1][at - text[0] :]
        return bytes(out[:length])

    def read_memory(self, addr: int, length: int) -> bytes:
        self.control.check()  # as where a replica has to go there first
        data = bytearray(self._bytes(self.index, addr, length))
        for at, value in self.changed.items():
            if addr <= at < addr + len(data):
                data[at - addr] = value
        return bytes(data)

    def write_memory(self, addr: int, data: bytes) -> None:
        self.changed.update({addr + i: byte for i, byte in enumerate(data)})

    def set_breakpoint(self, id_: int, addr: int, cond: bytes = b"") -> None:
        self.breakpoints[id_] = addr

    def clear_breakpoint(self, id_: int) -> None:
        del self.breakpoints[id_]

    def set_watchpoint(self, id_: int, addr: int, length: int, kind: int = 0) -> bool:
        self.watchpoints[id_] = (addr, length)
        return True

    def clear_watchpoint(self, id_: int) -> None:
        del self.watchpoints[id_]

    def exchange_points(self, points: Points) -> Points:
        """Only to remove all: POINTS has none."""
        assert not points.breakpoints and not points.watchpoints
        self.breakpoints.clear()
        self.watchpoints.clear()
        return points

    def _leave(self, index: int) -> None:
        self.index = index
        self.changed = {}
        self.new_regs = None

    def _watch_between(self, before: int) -> Stopped | None:
        for id_, (addr, length) in self.watchpoints.items():
            if self._bytes(before, addr, length) != self._bytes(before + 1, addr, length):
                by_event = self.run.states[before].event != self.run.states[before + 1].event
                return Stopped("watchpoint", id=id_, addr=addr, by_event=by_event)
        return None

    def step(
        self, forward: bool = True, count: int = 1, thread: int | None = None, alone: bool = False
    ) -> Stopped:
        self.stepped.append((thread, alone))
        if (self.at_end if forward else self.at_start) and not self.branch:
            return Stopped("end" if forward else "start")
        to = self.index + (1 if forward else -1)
        hit = self._watch_between(min(to, self.index)) if not self.branch else None
        self._leave(max(to, 0))
        return hit or Stopped("step")

    def cont(self, forward: bool = True) -> Stopped:
        while True:
            stopped = self.step(forward)
            if stopped.reason != "step":
                return stopped
            for id_, addr in self.breakpoints.items():
                if self.state.gpr.rip == addr:
                    return Stopped("breakpoint", id=id_, addr=addr)

    def seek(self, target: Position) -> Stopped:
        if target.moves and isinstance(target.moves[0], Steps):
            self._leave(target.moves[0].n)
            return Stopped("seek")
        for index, state in enumerate(self.run.states):
            self._leave(index)
            if state.event == target.event and (target.pc is None or self.name() == target):
                return Stopped("seek")
        raise ValueError("no such position")

    def goto_start(self) -> Stopped:
        self._leave(0)
        return Stopped("seek")

    def goto_end(self) -> Stopped:
        self._leave(len(self.run.states) - 1)
        return Stopped("end")

    def last_change(self, addr: int, length: int, kind: int = 0) -> Position | None:
        for index in range(self.index - 1, -1, -1):
            if self._bytes(index, addr, length) != self._bytes(index + 1, addr, length):
                return Position(0, (Steps(index),) if index else ())
        return None

    def interrupt(self) -> None:
        self.control.interrupt()

    def prepare(self) -> None:
        pass

    def begin(self) -> None:
        self.control.begin()


class FakeRecording:
    """The program itself is all there is."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.path = program.parent / "fake" / "rank-0"
        self.files_dir = program.parent
        self.rank = 0
        self.last_event = 0
        self.state = "exited 0"
        self.meta: dict[str, Any] = {"exe": str(program), "pid": 4711}

    @property
    def schedule(self) -> Schedule:
        return Schedule()

    @property
    def threads(self) -> list[RecordedThread]:
        return [RecordedThread(1, 4711, 0, None)]

    def answered_next(self, thread: int, event: int) -> str | None:
        return "futex"

    def store_path(self, path: str) -> Path | None:
        return self.program if path == str(self.program) else None

    def describe(self, event: int) -> str:
        return f"call {event}"

    def last_receive(self, before_event: int) -> Any:
        return None


def build(source: Path, program: Path, *flags: str) -> Path:
    subprocess.run(
        ["gcc", "-g", "-O0", "-static", "-no-pie", *flags, "-o", str(program), str(source)],
        check=True,
    )
    return program
