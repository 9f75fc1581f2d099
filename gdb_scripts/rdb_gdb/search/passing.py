"""Watchpoints on conditions, such as `watch p->x > 3`.

GDB stops at each change of p->x to evaluate the condition.  So before `continue` and
`reverse-continue` we ask the server for these changes, and skip those that do not change the
condition's value; GDB's own watchpoint then stops at the next change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import gdb

from .. import link
from ..state import scopes
from ..values import symbols
from ..values.words import names
from . import searching

_PART = re.compile(r"\s*(?:\.|->)\s*[A-Za-z_]\w*|\s*\[[^\[\]]*\]")
# Operators that read memory without a name, and names with another meaning.
_OTHER = re.compile(r"[*{$@'\"?]|(?<!&)&(?!&)")
_LANGUAGES = ("c", "c++")
_EVENTS = 64  # events that are examined first
_ROWS = 20_000  # changes at once
_OBJECTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_WITH_PARTS = {
    ".": (*_OBJECTS, gdb.TYPE_CODE_PTR),
    "-": (gdb.TYPE_CODE_PTR,),
    "[": (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ARRAY),
}
_PLAIN = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR),
    *(gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR),
)


class _Read(NamedTuple):
    """A variable or a part of one that the condition reads."""

    address: int
    kind: Any
    spans: tuple[tuple[int, int], ...]
    """Its places in the text; empty: it is only a pointer to another one."""

    def changes(self, start: str, end: str | None, limit: int) -> dict[str, Any]:
        of = {"addr": self.address, "length": self.kind.sizeof, "frame": None}
        found = searching.ask("changes", **of, **{"from": start, "to": end, "limit": limit})
        if found["interrupted"]:
            raise gdb.GdbError("Interrupted; still where you were.")
        return found


class _Unfit(gdb.error):
    """GDB must evaluate at each change."""


def place(point: Any, here: dict[str, Any], forward: bool) -> str | None:
    """The position up to which all changes can be skipped; None: none can."""
    if point.type != gdb.BP_HARDWARE_WATCHPOINT:
        return None
    try:
        with scopes.selected(point), link.calm():
            text = point.expression
            frame: Any = gdb.selected_frame()
            if frame.language() not in _LANGUAGES or _OTHER.search(text):
                return None
            if symbols.evaluated(text).address is not None:
                return None  # a plain variable: each change changes its value
            reads = _reads(text)
            return (_ahead if forward else _behind)(text, reads, here)
    except gdb.error:
        return None


def _reads(text: str) -> list[_Read]:
    found: dict[tuple[int, int], _Read] = {}
    for start, end, _ in names(text):
        while True:
            part = _PART.match(text, end)
            value = symbols.evaluated(text[start:end])
            kind = value.type.strip_typedefs()
            leads = part is not None and kind.code == gdb.TYPE_CODE_PTR
            if part is not None and kind.code not in _WITH_PARTS[part[0].lstrip()[0]]:
                raise _Unfit  # an operator that the program defines
            if part is None or leads:
                if value.address is None or kind.code not in _PLAIN:
                    raise _Unfit
                key = (int(value.address), kind.sizeof)
                spans = found[key].spans if key in found else ()
                found[key] = _Read(key[0], value.type, spans if leads else (*spans, (start, end)))
            if part is None:
                break
            end = part.end()
    return list(found.values())


def _truth(text: str, read: _Read) -> Callable[[str], str]:
    """A function from bytes of READ to the condition's value."""
    for start, end in reversed(read.spans):
        text = f"{text[:start]}$_rdb_read{text[end:]}"
    known: dict[str, str] = {}

    def of(data: str) -> str:
        if not data:
            raise _Unfit  # there is no memory
        if data not in known:
            gdb.set_convenience_variable("_rdb_read", gdb.Value(bytes.fromhex(data), read.kind))
            known[data] = str(symbols.evaluated(text))
        return known[data]

    return of


def _only(reads: list[_Read], start: str, end: str | None) -> _Read | None:
    """The only one of READS that changes between two positions; None: none does."""
    changed = [one for one in reads if one.changes(start, end, 1)["rows"]]
    if len(changed) > 1 or (changed and not changed[0].spans):
        raise _Unfit
    return changed[0] if changed else None


def _ahead(text: str, reads: list[_Read], here: dict[str, Any]) -> str | None:
    last = link.ask("info")["last_event"]
    event, start, size = here["event"], here["position"], _EVENTS
    was, passed = str(symbols.evaluated(text)), None
    while True:
        event = min(event + size, last)
        end = str(event) if event < last else None
        try:
            read = _only(reads, start, end)
            more = read is not None
            while read is not None and more:
                truth, found = _truth(text, read), read.changes(start, end, _ROWS)
                for row in found["rows"]:
                    if truth(row["now"]) != was:
                        return passed
                    passed = start = row["position"]
                more = found["more"]
        except _Unfit:
            return passed
        if end is None:
            return passed
        passed = start = end
        size *= 4


def _behind(text: str, reads: list[_Read], here: dict[str, Any]) -> str | None:
    first = link.ask("info")["first_event"]
    event, end, size = here["event"], here["position"], _EVENTS
    was, passed = str(symbols.evaluated(text)), None
    while end != str(first):
        start = max(event - size, first)
        try:
            read = _only(reads, str(start), end)
            found: dict[str, Any] = {"more": False}
            if read is not None:
                found = read.changes(str(start), end, _ROWS)
        except _Unfit:
            found, read = {"more": True}, None
        if found["more"]:
            if size == 1:
                return passed  # there is no event in between
            size = max(size // 8, 1)
            continue
        if read is not None:
            truth = _truth(text, read)
            for row in reversed(found["rows"]):
                if truth(row["was"]) != was:
                    return str(row["position"])
        event, passed = start, str(start)
        end = passed
        size *= 4
    return passed
