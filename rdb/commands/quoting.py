"""What one types, as GDB has to be told it."""

from __future__ import annotations

import re
import shlex

# gdb_scripts/rdb_gdb/predicates.py, intrinsics.py
_PREDICATE = re.compile(
    r"(?<![\w$.>:%])(allfinite|all|any|count|sum|max|min|sorted|checksum"
    r"|c(?:real|imag|abs)[fl]?|aimag)\s*\("
)
# gdb_scripts/rdb_gdb/meant.py
_TAKES_ONE = re.compile(
    r"(p(r(i(nt?)?)?)?|inspect|output|call|disp(l(ay?)?)?|[ra]?wa(t(ch?)?)?"
    r"|what(is?)?|pt(y(pe?)?)?|x|printf)\b"
)

_CONDITION = re.compile(r"(t?h?b|br|t?h?break)\s.*\sif\b|cond\w*\s+\d", re.DOTALL)
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
_AT_MPI = re.compile(r"\s*(b|br|break|tb|tbreak)\s+P?MPI_[A-Z]\w*(\s+if\b.*)?\s*$", re.DOTALL)


def word(text: str) -> str:
    """A name or a path without the quotes and backslashes of a shell, if these make it one word."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text  # a quote of its own: it's.rdb
    return words[0] if len(words) == 1 else text


def has_predicate(query: str) -> bool:
    """Is it asked of the program's memory, not of the log alone?"""
    return _PREDICATE.search(_TEXTS.sub("", query)) is not None


def as_meant(line: str) -> str:
    """A command of GDB's own: its names are the program's, it may have predicates over arrays, and
    the library of MPI may not be loaded yet where it sets a breakpoint."""
    if _AT_MPI.match(line):
        return f"with breakpoint pending on -- {_as_meant(line)}"
    return _as_meant(line)


def _as_meant(line: str) -> str:
    looked_at = _PREDICATE.search(line) or _TAKES_ONE.match(line) or _CONDITION.match(line)
    if "\n" in line or not looked_at:
        return line
    return f"rdb-meant {line}"
