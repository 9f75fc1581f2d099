"""Frames in the stubs that some of libc's system calls go through (interposer/hot_sites.h).

A stub is jumped to, with the stack as it is: for GDB it is called by the `syscall` instruction to
which it leads, so that backtraces go on and a `next` goes through it.
"""

from __future__ import annotations

import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

# interposer/layout.h; hot_sites.c, make_stub()
_ARENA, _ARENA_END, _GATE = 0x101000000000, 0x130000000000, 0x101000000000
_GATE_CODE_SYSCALL = _GATE + 4096 + 32  # jmp *%rcx
_STUB, _AFTER_LEA = 32, 12
_KEPT = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "eflags", "fs_base"),
)


class _FrameId:
    def __init__(self, sp: gdb.Value, pc: gdb.Value) -> None:
        self.sp, self.pc = sp, pc


def site_of(stub: bytes, at: int) -> int | None:
    """The `syscall` instruction to which the stub with these bytes leads, if it is one."""
    mov, lea, distance, movabs, gate, jmp = struct.unpack("<B4x3si2sQ3s", stub[:25])
    if (mov, lea, movabs, gate, jmp) != (
        0xB8,
        b"\x48\x8d\x0d",
        b"\x49\xbb",
        _GATE,
        b"\x41\xff\x63",
    ):
        return None
    return int(at + _AFTER_LEA + distance)


class _Stubs(Unwinder):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("rdb stubs")

    def __call__(self, pending: gdb.PendingFrame) -> gdb.UnwindInfo | None:
        pc = pending.read_register("rip")
        at = int(pc) & (1 << 64) - 1
        if not _ARENA <= at < _ARENA_END:
            return None
        start = at
        if at == _GATE_CODE_SYSCALL:
            site = int(pending.read_register("rcx"))
        else:
            if gdb.current_progspace().solib_name(at):
                return None
            start = at & -_STUB
            try:
                stub = bytes(gdb.selected_inferior().read_memory(start, _STUB))
            except gdb.MemoryError:
                return None
            found = site_of(stub, start)
            if found is None:
                return None
            site = found
        frame = _FrameId(pending.read_register("rsp"), gdb.Value(start).cast(pc.type))
        info = pending.create_unwind_info(frame)
        for name in _KEPT:
            info.add_saved_register(name, pending.read_register(name))
        info.add_saved_register("rip", gdb.Value(site).cast(pc.type))
        return info


def define() -> None:
    register_unwinder(None, _Stubs(), replace=True)
