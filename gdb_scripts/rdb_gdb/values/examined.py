"""What `x` has examined last: $_, $__ and where `x` without an address goes on.

`info line` and `info breakpoints` change them, also when we ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gdb

from . import symbols


def said(command: str) -> str:
    """What COMMAND prints; after it they are what they were.  Raises gdb.error."""
    with _kept():
        return str(gdb.execute(command, to_string=True))


@contextmanager
def _kept() -> Iterator[None]:
    last: Any = gdb.convenience_variable("_")
    value: Any = gdb.convenience_variable("__")
    if last is None:
        yield
        return
    after = _after(last, value)
    try:
        yield
    finally:
        with symbols.speaking("c"), suppress(gdb.error):
            gdb.execute(f"x/0 {after}", to_string=True)
        gdb.set_convenience_variable("_", last)
        gdb.set_convenience_variable("__", value)


def _after(last: Any, value: Any) -> int:
    """Where `x` goes on: GDB does not tell."""
    address = int(last)
    if last.type.target().code == gdb.TYPE_CODE_VOID:  # `info line` was the last
        return address
    with suppress(gdb.error):
        if value is not None:
            return address + int(value.type.sizeof)
        if " in section .text" in gdb.execute(f"info symbol {address}", to_string=True):
            frame: Any = gdb.selected_frame()
            return address + int(frame.architecture().disassemble(address)[0]["length"])
        return address + len(last.string("latin-1")) + 1
    return address
