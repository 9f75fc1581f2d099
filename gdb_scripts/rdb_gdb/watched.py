"""The bytes behind an expression, as searches for their changes need them."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import meant, symbols


def in_memory(text: str) -> tuple[gdb.Value, str]:
    """What an expression names, which can be written to, else gdb.GdbError; and which variables
    these are, if that is not obvious."""
    said = ""
    try:
        if text.startswith("{"):
            value = symbols.in_c(text)
        else:
            with meant.here(text) as found:
                value, said = symbols.evaluated(found.text), found.said
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if value.is_optimized_out:
        raise gdb.GdbError(f"{text} is optimized out here.")
    if value.address is None:
        raise gdb.GdbError(
            f"{text} is not in memory, so nothing writes it; name what it is computed from."
        )
    return value, said


class Watched:
    """Address and type of an expression, evaluated once, in the selected frame."""

    def __init__(self, text: str) -> None:
        self.text = text
        value, self.said = in_memory(text)
        self._type = value.type
        self.address = int(value.address)
        self.length = self._type.sizeof

    def options(self) -> dict[str, Any]:
        return {"addr": self.address, "length": self.length}

    def frame(self) -> list[int] | None:
        """[first instruction, stack pointer there, return address] if it is a local, else None."""
        try:
            frame = gdb.newest_frame()
            while frame is not None:
                older = frame.older()
                if older is not None and older.pc() and frame.type() != gdb.INLINE_FRAME:
                    above = int(older.read_register("rsp"))
                    if int(frame.read_register("rsp")) - _RED_ZONE <= self.address < above - 8:
                        start = _function_start(frame.pc())
                        return None if start is None else [start, above - 8, older.pc()]
                frame = older
        except gdb.error:
            return None
        return None

    def shown(self, data: str) -> str:
        """Bytes (hex) as a value of the expression's type."""
        raw = bytes.fromhex(data)
        if len(raw) < self.length:
            return "<not there yet>"
        if too_large(self._type):
            return f"<{self.length:,} bytes>"
        value = gdb.Value(raw, self._type)
        return str(value.format_string(max_elements=8, symbols=True)).replace("\n", " ")


def too_large(kind: gdb.Type) -> bool:
    """GDB 13 makes no value of bytes that are more than max-value-size, and does not survive the
    attempt: its own exception leaves through Python."""
    most: int | None = gdb.parameter("max-value-size")
    return most is not None and 0 < most < kind.sizeof


_RED_ZONE = 128  # System V ABI: a leaf function may use as much below its stack pointer


def _function_start(pc: int) -> int | None:
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    found = re.match(r"\S.*?(?: \+ (\d+))? in section ", text)
    return pc - int(found[1] or 0) if found else None
