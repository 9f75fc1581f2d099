"""Client of the agent inside a replica (interposer/interface/agent.h).

Every method sends one request and blocks until the answer; `run` and `step` block until the replica
stops.  Only `interrupt` may be called meanwhile, from a signal handler or another thread.

Every method raises AgentError if the replica refuses the request, and AgentGone if it has ended.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from rdb.errors import DamagedRecording, RdbError, VersionMismatch
from rdb.replay import protocol as wire
from rdb.replay.arrays import ArrayFound, ArrayPlan
from rdb.replay.lookout import Lookout
from rdb.replay.protocol import (
    FOREVER,
    BreakFlag,
    Changed,
    Gpr,
    Hello,
    Map,
    Op,
    Output,
    Regs,
    RunFlag,
    ScanHit,
    Seen,
    StepFlag,
    Stop,
    StopReason,
    Thread,
    ThreadState,
    WatchKind,
)
from rdb.trace import tracer

__all__ = [
    "FOREVER",
    "AgentClient",
    "AgentError",
    "AgentGone",
    "Changed",
    "Gpr",
    "Hello",
    "Map",
    "Output",
    "Regs",
    "ScanHit",
    "Stop",
    "StopReason",
    "Thread",
    "ThreadState",
    "WatchKind",
]

# A replica may miss a signal between two of its checks, so the signal is sent again.
_INTERRUPT_AGAIN_MS = 50
_CPUCLOCK_SCHED = 2  # include/linux/posix-timers_types.h
_trace = tracer("agent")


class AgentError(RdbError):
    """The replica refused a request."""

    def __init__(self, op: Op, code: int) -> None:
        super().__init__(f"the replica cannot {op.name.lower()}: {os.strerror(code)}")
        self.code = code


class AgentGone(RdbError):
    """The replica's process ended before it answered."""

    def __init__(self, pid: int, said: str = "") -> None:
        """SAID: the newest error line of the replica's stderr."""
        if said:
            super().__init__(f"a replica gave up: {said}", "", DamagedRecording.exit_code)
        else:
            super().__init__(f"the replica (process {pid}) ended unexpectedly, without a word")


class AgentClient:
    """One replica, through its SOCK_SEQPACKET socket; owns the socket."""

    def __init__(self, sock: socket.socket, said: Callable[[], str] = str) -> None:
        """SAID returns the newest error line of this replica and its forks, or ""."""
        self._sock = sock
        self._said = said
        self._buffer = memoryview(bytearray(wire.PACKET + wire.REPLY.size))
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._moving = False
        self._interrupted = False
        self.pid = 0  # known after hello() or fork()

    # ---- state ----

    def hello(self) -> Hello:
        hello = Hello._make(wire.HELLO.unpack(self._ask(Op.HELLO)[1]))
        if hello.version != wire.VERSION:
            raise VersionMismatch(
                f"the replica speaks protocol {hello.version}, this rdb {wire.VERSION}",
                "run `make dev`",
            )
        self.pid = hello.pid
        return hello

    def maps(self) -> list[Map]:
        """Mappings of the upper half, lowest address first."""
        found: list[Map] = []
        while True:
            count, payload = self._ask(Op.MAPS, a=len(found))
            if not count:
                return found
            found += [
                Map(start, end, prot) for start, end, prot, _ in wire.MAP.iter_unpack(payload)
            ]

    def threads(self) -> list[Thread]:
        """The program's threads, in order of their numbers."""
        payload = self._ask(Op.THREADS)[1]
        return [
            Thread(number, tid, ThreadState(state), pc, _text(name))
            for number, tid, state, _, pc, name in wire.THREAD.iter_unpack(payload)
        ]

    def asked(self) -> tuple[int, int, tuple[int, ...]] | None:
        """Kind, number and arguments of the question after the last record; None: there is none."""
        try:
            payload = self._ask(Op.ASKED)[1]
        except AgentError as error:
            if error.code == errno.ENODATA:
                return None
            raise
        kind, nr, _, count, *arguments = wire.ASKED.unpack(payload)
        return kind, nr, tuple(arguments[:count])

    def hash(self) -> int:
        (value,) = wire.HASH.unpack(self._ask(Op.HASH)[1])
        return int(value)

    def fold(self, plan: ArrayPlan) -> ArrayFound | int:
        """The value of an expression over arrays, or the address of an unmapped operand."""
        status, payload = self._ask(Op.ARRAY, plan.packed())
        found = ArrayFound.unpacked(payload)
        return found.first if status else found

    def look_out(self, number: int, lookout: Lookout) -> None:
        self._ask(Op.LOOKOUT, lookout.packed(), a=number)

    def seen(self) -> tuple[int, list[Seen]]:
        """Result of the last `run_lookout`, also of an interrupted one.

        The last event at which some lookout matched, and the events at which the matching lookout
        or its values changed.
        """
        checked, payload = self._ask(Op.SEEN)
        rows = []
        for event, number, refused, *rest in wire.SEEN.iter_unpack(payload):
            values = tuple(zip(rest[::3], rest[1::3], rest[2::3], strict=True))
            rows.append(Seen(event, number, refused, values))
        return checked, rows

    # ---- memory and registers ----

    def read(self, addr: int, length: int, before: int | None = None) -> bytes:
        """The bytes at `addr` up to the first unmapped one.

        `before`: as they were before that step of the last traced `step`; not less than
        `undo_first`.
        """
        when = 0 if before is None else before + 1
        parts: list[bytes] = []
        while length > 0:
            part = bytes(self._ask(Op.READ, a=addr, b=min(length, wire.READ_MAX), c=when)[1])
            parts.append(part)
            if len(part) < min(length, wire.READ_MAX):
                break
            addr += len(part)
            length -= len(part)
        return b"".join(parts)

    def write(self, addr: int, data: bytes) -> None:
        for at in range(0, len(data), wire.READ_MAX):
            self._ask(Op.WRITE, data[at : at + wire.READ_MAX], a=addr + at)

    def get_regs(self, thread: int = 0) -> Regs:
        """Registers of a thread; 0: the running one.  A parked thread has those of its question."""
        payload = self._ask(Op.GETREGS, a=thread)[1]
        used, _ = wire.XSAVE_LEN.unpack_from(payload, wire.GPR.size)
        start = wire.GPR.size + wire.XSAVE_LEN.size
        gpr = Gpr._make(wire.GPR.unpack_from(payload))
        return Regs(gpr, bytes(payload[start : start + used]))

    def set_regs(self, regs: Regs) -> None:
        self._ask(
            Op.SETREGS,
            wire.GPR.pack(*regs.gpr)
            + wire.XSAVE_LEN.pack(len(regs.xsave), 0)
            + regs.xsave.ljust(wire.XSAVE_BYTES, b"\0"),
        )

    # ---- breakpoints and watchpoints ----

    def set_break(self, id_: int, addr: int, stop: bool = True, cond: bytes = b"") -> None:
        """Sets a breakpoint; no other may have the id.  `cond`: GDB agent expression (GDB manual,
        appendix F).

        Without `stop` the breakpoint only counts arrivals.
        """
        self._ask(Op.BREAK, cond, a=addr, b=id_, c=BreakFlag.STOP if stop else 0)

    def clear_break(self, id_: int | None = None) -> None:
        """None: all."""
        self._ask(Op.UNBREAK, a=FOREVER if id_ is None else id_)

    def counts(self, id_: int) -> tuple[int, int]:
        """Arrivals since the breakpoint was set, and arrivals since the last event (if the
        breakpoint is newer: since it was set).  Where the log stops the thread it arrives twice,
        before that event and after."""
        total, since_event = wire.COUNTS.unpack(self._ask(Op.COUNT, a=id_)[1])
        return total, since_event

    def watch(self, id_: int, addr: int, length: int, kind: int = WatchKind.WRITE) -> bool:
        """True: a debug register watches; False: the pages are protected, which is slower."""
        return self._ask(Op.WATCH, a=addr, b=id_, c=length, d=kind)[0] == 0

    def unwatch(self, id_: int | None = None) -> None:
        """None: all."""
        self._ask(Op.UNWATCH, a=FOREVER if id_ is None else id_)

    # ---- moving ----

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
        """Runs to event `until_event`, or to the until_n-th arrival at until_pc after it (after
        here, if no event is given), or to the end.

        `thread`: runs to the first event from `until_event` on after which that thread runs.
        `limit`: stops with LIMIT after this much work, where a hit of a breakpoint or watchpoint
        counts 32; excludes `thread`.
        `faults`: stops with RAISED before the program handles these (AGENT_RAISES, AGENT_PASS).
        """
        if until_n and until_event == FOREVER:
            until_event = 0
        flags = RunFlag.SCAN if scan else RunFlag(0)
        if limit is not None:
            flags |= RunFlag.LIMIT
            thread = limit
        return self._move(Op.RUN, until_event, until_pc, until_n, flags | faults, thread)

    def run_changes(self, until_event: int, addr: int, length: int, most: int) -> Stop:
        """Runs to an event without stopping at watchpoints.

        The agent keeps the bytes at `addr` after each hit, for `changes`; it stops with LIMIT after
        `most` of them.
        """
        return self._move(Op.RUN, until_event, addr, length, RunFlag.CHANGES, most)

    def run_lookout(self, until_event: int, lookouts: int) -> Stop:
        """Runs to an event; stops with OTHER after an event at which none of the first `lookouts`
        lookouts matches."""
        return self._move(Op.RUN, until_event, lookouts, 0, RunFlag.LOOKOUT)

    def changes(self) -> list[Changed]:
        """The changes that the last `run_changes` kept, also an interrupted one."""
        return [
            Changed(event, pc, bool(by_event), now[:length])
            for event, pc, by_event, length, now in wire.CHANGE.iter_unpack(
                self._ask(Op.CHANGES)[1]
            )
        ]

    def step(
        self,
        count: int,
        trace: bool = False,
        pc: int | None = None,
        n: int = 0,
        blind: bool = False,
        scan: bool = False,
        real: bool = False,
        inside: tuple[int, int] | None = None,
        faults: int = 0,
    ) -> Stop:
        """Makes `count` instructions, or fewer: up to the n-th arrival at pc, or to the first step
        that leaves the addresses `inside` (first, end) or answers an event.

        `trace`: registers and overwritten memory are kept.  `real`: no instruction is emulated.
        `faults`: as for `run`.
        """
        flags = StepFlag(0)
        for flag, wanted in (
            (StepFlag.TRACE, trace),
            (StepFlag.PC, pc is not None),
            (StepFlag.BLIND, blind),
            (StepFlag.SCAN, scan),
            (StepFlag.REAL, real),
            (StepFlag.INSIDE, inside is not None),
        ):
            if wanted:
                flags |= flag
        first, last = inside or (pc or 0, n)
        return self._move(Op.STEP, count, flags | faults, first, last)

    def undo_first(self) -> int:
        """The first step of the last traced `step` whose overwritten memory is known."""
        (first,) = wire.UNDO_FIRST.unpack(self._ask(Op.UNDO)[1])
        return int(first)

    def traced(self, step: int) -> list[Gpr]:
        """Registers before step `step` of the last traced `step` and before the steps after it, as
        many as fit an answer.  The agent keeps those of the newest TRACED steps."""
        payload = self._ask(Op.TRACE, a=step)[1]
        return [Gpr._make(one) for one in wire.GPR.iter_unpack(payload)]

    def traced_at(self, pc: int, before: int) -> int | None:
        """The newest traced step before step `before` that was made at `pc`; None: there is
        none."""
        return self._traced(before, 1, pc, 0)

    def traced_outside(self, first: int, end: int, before: int) -> int | None:
        """As `traced_at`: made outside of these addresses."""
        return self._traced(before, 2, first, end)

    def _traced(self, before: int, how: int, first: int, end: int) -> int | None:
        try:
            return self._ask(Op.TRACE, a=before, b=how, c=first, d=end)[0]
        except AgentError as error:
            if error.code == errno.ENOENT:
                return None
            raise

    def interrupt(self) -> None:
        """Stops a `run` or `step` under way; without one, nothing happens."""
        if self._moving:
            self._interrupted = True
            self._signal()

    def _signal(self) -> None:
        try:
            os.kill(self.pid, signal.SIGUSR1)
        except ProcessLookupError:
            self._interrupted = False  # the next receive raises AgentGone

    def _move(self, op: Op, a: int, b: int, c: int, d: int, e: int = 0) -> Stop:
        self._interrupted = False
        self._moving = True
        try:
            self._send(op, b"", a, b, c, d, e)
            while not self._poll.poll(_INTERRUPT_AGAIN_MS):
                if self._interrupted:
                    self._signal()
            return wire.unpack_stop(self._receive(op)[1])
        finally:
            self._moving = False

    # ---- life ----

    @property
    def spent_s(self) -> float:
        """Processor time of the replica, in seconds (clock_getcpuclockid(3)); 0: it has ended."""
        with suppress(OSError):
            return time.clock_gettime((~self.pid << 3) | _CPUCLOCK_SCHED)
        return 0.0

    def fork(self) -> AgentClient:
        """A copy of the replica as it stands, without breakpoints and watchpoints."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        child = AgentClient(ours, self._said)
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=i", theirs.fileno()))]
            self._send(Op.FORK, b"", ancillary=rights)
            child.pid = self._receive(Op.FORK)[0]
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return child

    def settle_begin(self) -> None:
        """Asks the replica to make itself cheap to fork; `settle_end` must be the next request."""
        self._send(Op.SETTLE, b"")

    @property
    def settled(self) -> bool:
        """The replica has answered `settle_begin`: `settle_end` does not block."""
        return bool(self._poll.poll(0))

    def settle_end(self) -> int:
        """Waits for the answer; the number of bytes that the replica moved."""
        return self._receive(Op.SETTLE)[0]

    def output_on(self, flag: bool) -> None:
        """From now on the agent keeps (or drops) what the program writes."""
        self._ask(Op.OUTPUT, a=int(flag))

    def output_fetch(self) -> list[Output]:
        """What the agent has kept since the last fetch."""
        found: list[Output] = []
        while True:
            more, payload = self._ask(Op.OUTPUT, b=1)
            if not more:
                return found
            event, fd, length = wire.OUTPUT.unpack_from(payload)
            start = wire.OUTPUT.size
            found.append(Output(event, fd, bytes(payload[start : start + length])))

    def until(self, event: int, end_kind: int, end_value: int) -> None:
        """Tells the replica that the log has grown: it now ends after `event`, as `end_kind` and
        `end_value` say (0: the recording goes on)."""
        self._ask(Op.UNTIL, a=event, b=end_kind, c=end_value & 0xFFFFFFFFFFFFFFFF)

    def exit(self) -> None:
        """Ends the replica and waits for its answer."""
        self._ask(Op.EXIT)
        self.close()

    def close(self) -> None:
        """Closes the socket; the replica then exits by itself."""
        self._sock.close()

    # ---- packets ----

    def _ask(
        self, op: Op, payload: bytes = b"", a: int = 0, b: int = 0, c: int = 0, d: int = 0
    ) -> tuple[int, memoryview]:
        self._send(op, payload, a, b, c, d)
        return self._receive(op)

    def _send(
        self,
        op: Op,
        payload: bytes,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        d: int = 0,
        e: int = 0,
        ancillary: list[tuple[int, int, bytes]] | None = None,
    ) -> None:
        if _trace:
            _trace(
                f"{self.pid} <- {op.name} {a:#x} {b:#x} {c:#x} {d:#x} {e:#x}, {len(payload)} bytes"
            )
        head = wire.REQUEST.pack(op, len(payload), a, b, c, d, e)
        try:
            self._sock.sendmsg([head, payload], ancillary or [])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise AgentGone(self.pid, self._said()) from error

    def _receive(self, op: Op) -> tuple[int, memoryview]:
        """Status and payload; the payload is valid until the next request."""
        try:
            got = self._sock.recv_into(self._buffer)
        except ConnectionResetError as error:
            raise AgentGone(self.pid, self._said()) from error
        if got < wire.REPLY.size:
            raise AgentGone(self.pid, self._said())
        status, length, answered = wire.REPLY.unpack_from(self._buffer)
        if answered != op or length != got - wire.REPLY.size:
            raise AgentError(op, errno.EPROTO)
        if _trace:
            _trace(f"{self.pid} -> {op.name} {status}, {length} bytes")
        if status < 0:
            raise AgentError(op, -status)
        return status, self._buffer[wire.REPLY.size : got]


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode(errors="replace")
