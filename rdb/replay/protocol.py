"""The structs and enums of interposer/interface/agent.h as Python types.

Names and values are those of that header, which explains them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

VERSION = 15
PACKET = 131072
READ_MAX = 65536
FOREVER = 2**64 - 1
TRACED = 32768  # steps of a traced `step` that are kept

REQUEST = struct.Struct("=2I5Q")
REPLY = struct.Struct("=q2I")
HELLO = struct.Struct("=Ii2QIi4Q")
GPR = struct.Struct("=28Q")
XSAVE_LEN = struct.Struct("=2I")
XSAVE_BYTES = 4096
STOP = struct.Struct("=Ii5QIi2I")
SCAN = struct.Struct("=6Q2I")
STOP_BYTES = STOP.size + SCAN.size + GPR.size
MAP = struct.Struct("=2Q2I")
OUTPUT = struct.Struct("=QiI")
THREAD = struct.Struct("=Ii2IQ16s")
COUNTS = struct.Struct("=2Q")
CHANGE = struct.Struct("=4Q32s")
CHANGE_BYTES = 32
UNDO_FIRST = struct.Struct("=Q")
HASH = struct.Struct("=Q")
ASKED = struct.Struct("=4I16Q")
DIMENSIONS, OPERANDS, STEPS = 15, 4, 32
ARRAY = struct.Struct("=4I15Q")
ARRAY_OPERAND = struct.Struct("=Q2I15q")
ARRAY_STEP = struct.Struct("=2I2d")
ARRAY_PLAN_BYTES = ARRAY.size + OPERANDS * ARRAY_OPERAND.size + STEPS * ARRAY_STEP.size
ARRAY_FOUND = struct.Struct("=2d6Q")
LOOKOUTS, RANGES, FOLDS, LOOKOUT_BYTES = 16, 256, 4, 16384
LOOKOUT = struct.Struct("=2IQ")
RANGE = struct.Struct("=2Q")
SEEN = struct.Struct("=Q2I2dQ2dQ2dQ2dQ")


class Op(IntEnum):
    HELLO = 1
    READ = 2
    WRITE = 3
    GETREGS = 4
    SETREGS = 5
    BREAK = 6
    UNBREAK = 7
    WATCH = 8
    UNWATCH = 9
    RUN = 10
    STEP = 11
    FORK = 12
    HASH = 13
    MAPS = 14
    COUNT = 15
    OUTPUT = 16
    EXIT = 17
    THREADS = 18
    UNDO = 19
    SETTLE = 20
    UNTIL = 24
    ARRAY = 25
    CHANGES = 21
    ASKED = 22
    TRACE = 23
    LOOKOUT = 26
    SEEN = 27


class BreakFlag(IntFlag):
    STOP = 1


PASS, RAISES, RAISED_ID = 1 << 16, 32, 0x72646300  # AGENT_PASS and following


class RunFlag(IntFlag):
    SCAN = 1
    LIMIT = 2
    CHANGES = 4
    LOOKOUT = 8


class StepFlag(IntFlag):
    TRACE = 1
    PC = 2
    BLIND = 4
    SCAN = 8
    REAL = 16
    INSIDE = 32


class WatchKind(IntEnum):
    WRITE = 0  # stops when the value changed
    READ = 1
    ACCESS = 2


class StopReason(IntEnum):
    START = 1
    TARGET = 2
    BREAK = 3
    WATCH = 4
    END = 5
    FAULT = 6
    INTERRUPT = 7
    DIVERGED = 8
    PC = 9
    LIMIT = 10
    OTHER = 11
    RAISED = 12


class Hello(NamedTuple):
    version: int
    pid: int
    event: int  # last answered event
    last_event: int  # newest in the log when it was opened
    end_kind: int
    end_value: int
    entry: int
    auxv_addr: int
    auxv_len: int
    interp_base: int


class Gpr(NamedTuple):
    """General registers in the order of GDB's amd64-linux target, and the number of their
    thread."""

    rax: int
    rbx: int
    rcx: int
    rdx: int
    rsi: int
    rdi: int
    rbp: int
    rsp: int
    r8: int
    r9: int
    r10: int
    r11: int
    r12: int
    r13: int
    r14: int
    r15: int
    rip: int
    eflags: int
    cs: int
    ss: int
    ds: int
    es: int
    fs: int
    gs: int
    fs_base: int
    gs_base: int
    orig_rax: int
    thread: int = 1

    @property
    def pc(self) -> int:
        return self.rip

    @property
    def sp(self) -> int:
        return self.rsp

    @property
    def thread_pointer(self) -> int:
        return self.fs_base

    def at(self, pc: int) -> Gpr:
        """These registers with another program counter."""
        return self._replace(rip=pc)

    def before_call(self, before: Gpr) -> Gpr:
        """These registers with the rcx and r11 of BEFORE, which `syscall` overwrites."""
        return self._replace(rcx=before.rcx, r11=before.r11)


@dataclass
class Regs:
    """All registers; xsave is an XSAVE area in the standard format (Intel SDM, volume 1, 13.4)."""

    gpr: Gpr
    xsave: bytes


class ScanHit(NamedTuple):
    """The last hit of a scan; id 0: there was none."""

    id: int
    event: int
    pc: int
    hits: int
    steps: int
    total: int
    by_event: int


class Changed(NamedTuple):
    """Watched bytes right after they were written to."""

    event: int
    pc: int  # of the instruction that comes next
    by_event: bool
    now: bytes


class Seen(NamedTuple):
    """A change of lookouts after an event; it holds until the next entry's event."""

    event: int
    set: int  # number of the lookout that matched
    refused: int  # bit n: the third number of fold n is an address that cannot be read
    values: tuple[tuple[float, float, int], ...]  # per fold: high and low part, deciding element


class Map(NamedTuple):
    start: int
    end: int
    prot: int  # PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4


class ThreadState(IntEnum):
    RUNNING = 0  # runs next, or was stopped or ended by the last event
    PARKED = 1  # waits for the answer of its event
    PREEMPTED = 2  # stopped between events, or about to start


class Thread(NamedTuple):
    """A thread of the program where the replica has stopped."""

    number: int
    tid: int
    state: ThreadState
    pc: int
    name: str


class Output(NamedTuple):
    """What the program wrote to a descriptor in one event."""

    event: int
    fd: int
    data: bytes


@dataclass
class Stop:
    """Why and where a replica stopped: struct agent_stop."""

    reason: StopReason
    signal: int
    event: int
    steps: int
    id: int
    addr: int
    hits: int
    end_kind: int
    end_value: int
    by_event: int
    scan: ScanHit
    gpr: Gpr
    trace: list[Gpr]  # registers before the newest steps made, oldest first
    text: str  # DIVERGED: the recorded question and the one that came


def unpack_stop(payload: memoryview) -> Stop:
    (
        reason, signal, event, steps, id_, addr, hits, end_kind, end_value, by_event, traced,
    ) = STOP.unpack_from(payload)  # fmt: skip
    *scan, _ = SCAN.unpack_from(payload, STOP.size)
    gpr = Gpr._make(GPR.unpack_from(payload, STOP.size + SCAN.size))
    rest = payload[STOP_BYTES:]
    trace: list[Gpr] = []
    text = ""
    if reason == StopReason.DIVERGED:
        text = bytes(rest).decode(errors="replace")
    elif traced:
        trace = [Gpr._make(one) for one in GPR.iter_unpack(rest)]
    return Stop(
        StopReason(reason), signal, event, steps, id_, addr, hits, end_kind, end_value, by_event,
        ScanHit._make(scan), gpr, trace, text,
    )  # fmt: skip
