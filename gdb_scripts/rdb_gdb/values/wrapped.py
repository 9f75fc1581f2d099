"""`std::atomic<T>` and `std::optional<T>` as the values in them: `state < 7`, `*found`, `!found`.

To GDB these are classes, whose operators and methods the program mostly does not contain as
functions.  In libstdc++ and libc++ the value lies at the beginning; an optional's flag follows it.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import elements, symbols
from .functions import function
from .quoting import TEXTS

_CLASS = re.compile(r"std::(?:\w+::)*(atomic|optional)<")
_LANGUAGES = ("c++", "c", "asm")  # of frames of libraries, too
_NAME = r"(?:\(\*\$_rdb_at_\d+\)|\$_rdb_bound\(\d+\)|(?<![\w$.>:])(?:::)?[A-Za-z_][\w:]*)"
_TERM = re.compile(
    rf"(?P<star>(?:(?<=[-+/%&|^!<>=?:(,])|^)\s*\*\s*)?"
    rf"(?P<term>{_NAME}(?:\s*(?:\.|->)\s*\w+(?!\w|\s*\()|\[[^\[\]]*\])*)(?!\w|\s*\()"
    r"(?:\s*(?P<dot>\.|->)\s*(?:(?P<method>load|value|has_value)\s*\(\s*\))?)?"
)
_COMPARES_BEFORE = re.compile(r"(?:[=!]=|<=?|>=?)\s*\Z")
_COMPARES_BEHIND = re.compile(r"\s*(?:[=!]=|<=?(?!<)|>=?(?!>))")
NULLOPT = re.compile(r"(?<![\w:.>$])(?:std::)?nullopt\b")
_NONE = re.compile(rf"\s*([=!])=\s*{NULLOPT.pattern}")


def for_gdb(expression: str) -> str:
    """EXPRESSION with what GDB takes for these classes; alone they stay what they are."""
    if elements.language("") not in _LANGUAGES:
        return expression
    plain = TEXTS.sub(lambda found: "_" * len(found[0]), expression)
    parts: list[str] = []
    end = 0
    for found in _TERM.finditer(plain):
        term = expression[found.start("term") : found.end("term")]
        value = _value(term)
        kind = None if value is None else kind_of(value.type)
        if not kind or found[0].strip() == expression.strip() == term:
            continue
        of = value.type.strip_typedefs().template_argument(0)
        last = found.end("term") if found["method"] is None else found.end()
        behind = plain[last:]
        none = _NONE.match(behind) if kind == "optional" else None
        if kind == "atomic":
            said = f"(*({of} *) &{term})" if found["method"] in (None, "load") else None
        elif none or found["method"] == "has_value":
            sign = "!" if none and none[1] == "=" else ""
            last += none.end() if none else 0
            said = f"({sign}$_rdb_has({term}))"
        elif found["star"] is not None or found["method"] == "value":
            said = f"(*({of} *) $_rdb_in({term}))"
        elif found["dot"] == "->":
            said = f"(({of} *) $_rdb_in({term}))"
        elif _COMPARES_BEHIND.match(behind) or _COMPARES_BEFORE.search(plain[: found.start()]):
            said = f"(*({of} *) $_rdb_in({term}))"
        else:
            said = f"$_rdb_has({term})"
        if said is None or not _is_type(of):
            continue
        start = found.start("star") if kind == "optional" and found["star"] else found.start("term")
        parts += [expression[end:start], said]
        end = last
    return "".join([*parts, expression[end:]])


def _value(term: str) -> Any:
    try:
        return elements.referent(gdb.parse_and_eval(term))
    except gdb.error:
        return None


def _is_type(of: Any) -> bool:
    try:
        symbols.evaluated(f"({of} *) 0")
    except gdb.error:
        return False
    return True


def kind_of(of: Any) -> str | None:
    """`atomic` or `optional`; None: another type."""
    found = _CLASS.match(of.unqualified().strip_typedefs().name or "")
    return found[1] if found else None


def truth(value: Any) -> Any:
    """The value of an atomic, or whether an optional has one."""
    return _inner(value).dereference() if kind_of(value.type) == "atomic" else _has(value)


def inner(value: Any) -> Any:
    """The value in an atomic or an optional; None: there is none."""
    none = kind_of(value.type) == "optional" and not _has(value)
    return None if none else _inner(value).dereference()


def _inner(value: Any) -> Any:
    if value.address is None:
        raise gdb.GdbError(f"The {kind_of(value.type)} is optimized out.")
    return value.address.cast(value.type.strip_typedefs().template_argument(0).pointer())


@function("_rdb_has")
def _has(value: Any) -> Any:
    """Does the std::optional have a value?"""
    flag = (_inner(value) + 1).cast(gdb.lookup_type("bool").pointer())
    return flag.dereference()


@function("_rdb_in")
def _in(value: Any) -> Any:
    """Address of the value in a std::optional."""
    if not _has(value):
        raise gdb.GdbError("The std::optional has no value.")
    return _inner(value)
