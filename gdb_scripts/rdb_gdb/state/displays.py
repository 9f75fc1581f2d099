"""Automatic displays, read from `info display`: GDB's Python does not have them."""

from __future__ import annotations

import re
from typing import NamedTuple

import gdb

from . import meant

_ROW = re.compile(r"^(\d+):\s+([yn])\s+(?:(/\S+)\s+)?(.*?)(?:\n|$)")
_OUT_OF_SCOPE = "cannot be evaluated in the current context"


class Display(NamedTuple):
    number: int
    enabled: bool
    format: str
    expression: str


def current() -> tuple[Display, ...]:
    rows = []
    for line in gdb.execute("info display", to_string=True).splitlines():
        found = _ROW.match(line)
        if found:
            number, enabled, fmt, expression = found.groups()
            expression = re.sub(rf"\s*\({_OUT_OF_SCOPE}\)$", "", expression)
            rows.append(Display(int(number), enabled == "y", fmt or "", expression))
    return tuple(rows)


def restore(wanted: tuple[Display, ...]) -> None:
    now = current()
    if [(d.format, d.expression, d.enabled) for d in now] == [
        (d.format, d.expression, d.enabled) for d in wanted
    ]:
        return
    # GDB shows displays in the order of their numbers, so all are made again.
    for display in now:
        gdb.execute(f"undisplay {display.number}", to_string=True)
    for display in wanted:
        try:
            with meant.here(display.expression, as_gdb=True) as found:
                gdb.execute(f"display{display.format} {found.text}", to_string=True)
        except (gdb.error, gdb.GdbError) as error:
            gdb.write(f"Display of {display.expression} cannot be set again here: {error}\n")
            continue
        if not display.enabled:
            gdb.execute(f"disable display {current()[-1].number}", to_string=True)
