"""The siginfo_t of the signal that is delivered at the position ($_siginfo in GDB)."""

from __future__ import annotations

import struct

from rdb.timeline.timeline import Timeline

_BYTES = 128  # sizeof(siginfo_t)
_FAULT = struct.Struct("<3i4xQ")  # si_signo, si_errno, si_code, si_addr


def siginfo(timeline: Timeline, thread: int) -> bytes | None:
    """None: no signal is delivered to that thread here."""
    one = timeline.delivery
    if one is None:
        fault = timeline.fault if thread == timeline.thread else None
        if fault is None:
            return None
        return _FAULT.pack(fault.signal, 0, fault.end_value, fault.addr).ljust(_BYTES, b"\0")
    if one.thread != thread:
        return None
    words = timeline.deliveries.record(one).args  # its first part: the kernel sets no more
    return struct.pack(f"<{len(words)}Q", *words).ljust(_BYTES, b"\0")
