"""Address, length and type of an expression, for searches for its changes."""

from __future__ import annotations

from typing import Any

import gdb

from ..state import meant
from ..values import pyvalues, subscripts, symbols


def in_memory(text: str) -> tuple[gdb.Value, int, str]:
    """The value of an expression in memory, its address, and a text about its variables.

    The text is empty if they are obvious.  Raises gdb.GdbError if it is not in memory.
    """
    said = ""
    try:
        if text.startswith("{"):
            value = symbols.in_c(text)
        else:
            with meant.here(text) as found:
                if pyvalues.expression(text) is not None:
                    raise gdb.error(
                        f"{text} is a Python variable; use bisect or watch to find its changes."
                    )
                value, said = symbols.evaluated(subscripts.for_gdb(found.text)), found.said
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if value.is_optimized_out:
        raise gdb.GdbError(f"{text} is optimized out here.")
    if value.address is None:
        raise gdb.GdbError(
            f"{text} is not in memory, so nothing writes it; name a variable that it depends on."
        )
    return value, int(value.address), said


def length(kind: gdb.Type) -> int:
    """Bytes of a value of this type: the last six of a long double are none of it."""
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_FLT and kind.sizeof == len(_ONE) and gdb.Value(_ONE, kind) == 1:
        return 10
    return kind.sizeof


class Watched:
    """Address and type of an expression, evaluated once, in the selected frame."""

    def __init__(self, text: str) -> None:
        self.text = text
        value, self.address, self.said = in_memory(text)
        self._type = value.type
        self.length = self._type.sizeof

    def options(self) -> dict[str, Any]:
        return {"addr": self.address, "length": self.length}

    def frame(self) -> list[int] | None:
        """[entry address, stack pointer there, return address] of the function whose local it is;
        None: it is no local."""
        try:
            frame: gdb.Frame | None = gdb.newest_frame()
            while frame is not None:
                older = frame.older()
                if older is not None and older.pc() and frame.type() != gdb.INLINE_FRAME:
                    above = int(older.read_register("rsp"))
                    if int(frame.read_register("rsp")) - _RED_ZONE <= self.address < above - 8:
                        start = symbols.function_start(frame.pc())
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
    """Is the type larger than max-value-size?  GDB 13 crashes when a value of such a type is made
    from bytes: its C++ exception passes through Python."""
    most = gdb.parameter("max-value-size")
    return isinstance(most, int) and 0 < most < kind.sizeof


_ONE = bytes([0] * 7 + [0x80, 0xFF, 0x3F] + [0] * 6)  # a long double (Intel SDM, volume 1, 4.2.2)
_RED_ZONE = 128  # bytes below the stack pointer that a leaf function may use (ABI, 3.2.2)
