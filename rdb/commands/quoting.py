"""What one types, as GDB has to be told it."""

from __future__ import annotations

import re
import shlex

# gdb_scripts/rdb_gdb/predicates.py
_PREDICATE = re.compile(r"(?<![\w$.>:%])(allfinite|all|any|count|sum|max|min|sorted|checksum)\s*\(")


def word(text: str) -> str:
    """A name or a path without the quotes and backslashes of a shell, if these make it one word."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text  # a quote of its own: it's.rdb
    return words[0] if len(words) == 1 else text


def with_predicates(line: str) -> str:
    """A command of GDB's own, whose expressions may have predicates over arrays."""
    if "\n" in line or not _PREDICATE.search(line):
        return line
    return f"rdb-predicates {line}"
