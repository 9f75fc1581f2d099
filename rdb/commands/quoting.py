"""Turns what a user types into what GDB has to be given."""

from __future__ import annotations

import re
import shlex

from rdb.session.predicates import NAMES

# gdb_scripts/rdb_gdb/values/predicates.py, intrinsics.py
_PREDICATE = re.compile(
    rf"(?<![\w$.>:%])({NAMES}|c(?:real|imag|abs)[fl]?|aimag)\s*\(", re.IGNORECASE
)
# gdb_scripts/rdb_gdb/commands/meant.py
_TAKES_ONE = re.compile(
    r"(p(r(i(nt?)?)?)?|ins(p(e(ct?)?)?)?|output|call|disp(l(ay?)?)?|wa(t(ch?)?)?"
    r"|[ra]w(a(t(ch?)?)?)?|wha(t(is?)?)?|pt(y(pe?)?)?|x|printf|set\s+var\w*)\b"
)

# gdb_scripts/rdb_gdb/state/points.py
_TAKES_NUMBERS = re.compile(r"(d|del\w*|dis\w*|en|ena\w*|ig\w*)\s[a-z\s]*\d")

_CONDITION = re.compile(r"(t?h?b|br|t?h?break)\s.*\sif\b|cond\w*\s+\d", re.DOTALL)
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
_AT_MPI = re.compile(r"\s*(b|br|break|tb|tbreak)\s+P?MPI_[A-Z]\w*(\s+if\b.*)?\s*$", re.DOTALL)


def word(text: str) -> str:
    """TEXT without the quotes and backslashes of a shell, if TEXT is one word of a shell."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text  # an apostrophe, not a quote: it's.rdb
    return words[0] if len(words) == 1 else text


def has_predicate(query: str) -> bool:
    """Whether QUERY asks about the program's memory, not about the log alone."""
    return _PREDICATE.search(_TEXTS.sub("", query)) is not None


def as_meant(line: str) -> str:
    """LINE, a command of GDB, so that it means what the user expects.

    Names are the program's, predicates over arrays work (`rdb-meant`), and a breakpoint on an MPI
    function is pending until the MPI library is loaded.
    """
    if _AT_MPI.match(line):
        return f"with breakpoint pending on -- {_as_meant(line)}"
    return _as_meant(line)


def _as_meant(line: str) -> str:
    ways = (_TAKES_ONE, _CONDITION, _TAKES_NUMBERS)
    if "\n" in line or not (_PREDICATE.search(line) or any(way.match(line) for way in ways)):
        return line
    return f"rdb-meant {line}"
