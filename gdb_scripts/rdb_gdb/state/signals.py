"""GDB's handling of signals (`handle`) as a value that can be compared and restored."""

from __future__ import annotations

import re

import gdb

_ROW = re.compile(r"(?m)^(\w+)\s+(Yes|No)\s+(Yes|No)\s+(Yes|No)\s")
_WORDS = ("stop", "print", "pass")
Signals = tuple[tuple[str, ...], ...]


def current() -> Signals:
    """A row for each signal: name, stop, print, pass to the program."""
    return tuple(_ROW.findall(gdb.execute("info signals", to_string=True)))


def restore(wanted: Signals, now: Signals) -> list[str]:
    """Restores those that differ; a message for each."""
    said = []
    for row in wanted:
        if row not in now:
            flags = zip(_WORDS, row[1:])
            words = [word if has == "Yes" else f"no{word}" for word, has in flags]
            gdb.execute(f"handle {row[0]} {' '.join(words)}", to_string=True)
            said.append(f"{row[0]} is {', '.join(words)} again.")
    return said
