"""Stop replies (GDB manual, E.3, "Stop Reply Packets")."""

from __future__ import annotations

import signal as host

from rdb.server.breakpoints import Breakpoints
from rdb.server.registers import GENERAL, NUMBERS
from rdb.server.threads import Threads
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

# GDB's signal numbers (include/gdb/signals.def) that differ from those of Linux x86-64.
_GDB_SIGNALS = {
    host.SIGBUS: 10,
    host.SIGUSR1: 30,
    host.SIGUSR2: 31,
    host.SIGCHLD: 20,
    host.SIGCONT: 19,
    host.SIGSTOP: 17,
    host.SIGTSTP: 18,
    host.SIGURG: 16,
    host.SIGIO: 23,
    host.SIGSYS: 12,
    host.SIGPWR: 32,
    host.SIGSTKFLT: 143,  # GDB has no name for it
    32: 77,  # GDB_SIGNAL_REALTIME_32
    **{number: number + 12 for number in range(33, 64)},
    64: 78,
}
HIDDEN = frozenset((32, 33))  # the C library's own, which a debugger never shows
_NONE, _INTERRUPT, _TRAP = 0, 2, 5
# Registers that GDB reads after every step; the reply includes them so that GDB need not ask.
_EXPEDITED = tuple((name, NUMBERS[name]) for name in (*GENERAL, "rip"))


def gdb_signal(number: int) -> int:
    return _GDB_SIGNALS.get(number, number)


_NUMBERS = {gdb_signal(number): number for number in range(1, 65)}


def passed_signals(body: bytes) -> frozenset[int]:
    """The signals of `QPassSignals:BODY`.  Raises ValueError."""
    passed = {_NUMBERS.get(int(word, 16), 0) for word in body.split(b";") if word}
    return HIDDEN | passed


def stop_reply(
    stopped: Stopped | None, timeline: Timeline, points: Breakpoints, threads: Threads
) -> bytes:
    """The reply for a stop; None: the reply to `?`."""
    thread, gpr = timeline.thread, timeline.gpr
    # A thread that has not started yet has no registers.
    there = {one.number for one in timeline.threads()} if stopped and stopped.thread else ()
    if stopped is not None and stopped.thread != thread and stopped.thread in there:
        thread = stopped.thread
        gpr = timeline.registers(thread).gpr
    threads.stopped(thread)
    words = [
        f"{number:x}:{getattr(gpr, name).to_bytes(8, 'little').hex()};"
        for name, number in _EXPEDITED
    ]
    words.append(f"thread:{thread:x};")
    signal = _TRAP
    if stopped is not None:
        if stopped.reason in ("breakpoint", "watchpoint"):
            words.append(points.stop_word(stopped.id, stopped.addr))
        elif stopped.reason in ("start", "root"):
            words.append("replaylog:begin;")
        elif stopped.reason in ("end", "diverged"):
            words.append("replaylog:end;")
        elif stopped.reason == "signal":
            signal = gdb_signal(stopped.signal)
        elif stopped.reason == "interrupt":
            signal = _INTERRUPT
        elif stopped.reason in ("gone", "until"):
            signal = _NONE
    return f"T{signal:02x}{''.join(words)}".encode("ascii")
