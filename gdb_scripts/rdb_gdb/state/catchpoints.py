"""The command that makes a catchpoint again, which GDB's Python does not tell."""

from __future__ import annotations

import re
from typing import Any

import gdb

from ..values import examined

TYPE: int | None = getattr(gdb, "BP_CATCHPOINT", None)  # GDB 12 and newer

_said: dict[int, str] = {}  # number -> result of `spec`
_ROW = re.compile(r"(?m)^\d+\s+catchpoint\s+\w+\s+\w\s+(?:0x[0-9a-f]+\s+)?(\S.*?)\s*$")
_MATCHING = re.compile(r"(?m)^\s+matching: (.*?)\s*$")
_LIBRARY = re.compile(r"(un)?load of library(?: matching (.*))?")


def spec(point: Any) -> str:
    """The arguments of `catch`, such as `throw`; empty: it cannot be made again."""
    if point.number not in _said:
        _said[point.number] = _spec(examined.said(f"info breakpoints {point.number}"))
    return _said[point.number]


def _spec(text: str) -> str:
    row = _ROW.search(text)
    what = row[1] if row else ""
    kind, _, name = what.partition(" ")
    library = _LIBRARY.fullmatch(what)
    if library:
        return f"{library[1] or ''}load {library[2] or ''}".strip()
    if kind == "exception":
        matching = _MATCHING.search(text)
        return f"{name} {matching[1]}" if matching else name
    return what if what in ("fork", "vfork", "exec") else ""
