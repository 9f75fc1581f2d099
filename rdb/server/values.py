"""Conversion between the timeline's registers and the register file of GDB's packets."""

from __future__ import annotations

import dataclasses
import errno

from rdb.replay.agent import AgentError
from rdb.server.registers import REGISTERS, RegisterFile
from rdb.timeline.timeline import Timeline

_NAMES = tuple(register.name for register in REGISTERS if register.kind == "gpr")


def register_file(timeline: Timeline, thread: int = 0) -> RegisterFile:
    """The registers of a thread; all zero if it has not started yet or has ended."""
    try:
        regs = timeline.registers(thread)
    except AgentError as error:
        if error.code != errno.ESRCH:
            raise
        return RegisterFile(dict.fromkeys(_NAMES, 0), b"")
    return RegisterFile({name: getattr(regs.gpr, name) for name in _NAMES}, regs.xsave)


def set_register_file(timeline: Timeline, registers: RegisterFile, thread: int = 0) -> None:
    old = timeline.registers(thread)
    gpr = old.gpr._replace(**registers.general)
    # The file is padded to XSAVE_BYTES; the replica has what its processor saves.
    xsave = bytes(registers.xsave[: len(old.xsave)])
    timeline.set_registers(dataclasses.replace(old, gpr=gpr, xsave=xsave), thread)
