"""Between the timeline's registers and the register file that GDB's packets are made from."""

from __future__ import annotations

import dataclasses

from rdb.server.registers import REGISTERS, RegisterFile
from rdb.server.target import Debuggee

_NAMES = tuple(register.name for register in REGISTERS if register.kind == "gpr")


def register_file(timeline: Debuggee) -> RegisterFile:
    regs = timeline.registers()
    return RegisterFile({name: getattr(regs.gpr, name) for name in _NAMES}, regs.xsave)


def set_register_file(timeline: Debuggee, registers: RegisterFile) -> None:
    old = timeline.registers()
    # eflags and the segment selectors have 32 bits in GDB; what is above them stays.
    new = {
        name: value
        for name, value in registers.general.items()
        if value != getattr(old.gpr, name) & ((1 << 64) - 1)
    }
    gpr = old.gpr._replace(**new)
    xsave = bytes(registers.xsave[: max(len(old.xsave), 0)]) or bytes(registers.xsave)
    timeline.set_registers(dataclasses.replace(old, gpr=gpr, xsave=xsave))
