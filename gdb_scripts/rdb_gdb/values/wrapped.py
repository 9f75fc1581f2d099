"""`std::atomic<T>` and `std::optional<T>` as the values in them: `state < 7`, `*found`, `!found`.
`std::unique_ptr<T>` and `std::shared_ptr<T>` as the pointers: `field->count`, `*field`.

To GDB these are classes, whose operators and methods the program mostly does not contain as
functions.  In libstdc++ and libc++ the value lies at the beginning; an optional's flag follows it.
GDB's own methods for smart pointers need one that lies in memory.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import elements, symbols
from .functions import PLACEHOLDER, function
from .quoting import without_texts

_CLASS = re.compile(r"std::(?:\w+::)*(atomic|optional|unique_ptr|shared_ptr)<")
POINTERS = ("unique_ptr", "shared_ptr")
_LANGUAGES = ("c++", "c", "asm")  # of frames of libraries, too
_NAME = rf"(?:{PLACEHOLDER}|(?<![\w$.>:])(?:::)?[A-Za-z_][\w:]*)"
_TERM = re.compile(
    rf"(?P<star>(?:(?<=[-+/%&|^!<>=?:(,])|^)\s*\*\s*)?"
    rf"(?P<term>{_NAME}(?:\s*(?:\.|->)\s*\w+(?!\w|\s*\()|\[[^\[\]]*\])*)(?!\w|\s*\()"
    r"(?:\s*(?P<dot>\.|->)\s*(?:(?P<method>load|value|has_value|get)\s*\(\s*\))?)?"
)
_COMPARES_BEFORE = re.compile(r"(?:[=!]=|<=?|>=?)\s*\Z")
_COMPARES_BEHIND = re.compile(r"\s*(?:[=!]=|<=?(?!<)|>=?(?!>))")
# Where it is asked whether a pointer is null.
_ASKS_BEFORE = re.compile(r"(?:!|&&|\|\|)\s*\Z")
_ASKS_BEHIND = re.compile(r"\s*(?:&&|\|\||\?)")
# What a unique_ptr has besides the pointer: its deleter, in libstdc++ and in libc++.
_DELETER = re.compile(
    r"std::(?:\w+::)*(?:_Tuple_impl<[1-9]|_Head_base<[1-9]|__compressed_pair_elem<.*, 1, )"
)
NULLOPT = re.compile(r"(?<![\w:.>$])(?:std::)?nullopt\b")
_NONE = re.compile(rf"\s*([=!])=\s*{NULLOPT.pattern}")


def for_gdb(expression: str) -> str:
    """EXPRESSION with what GDB takes for these classes; alone they stay what they are."""
    if elements.language("") not in _LANGUAGES:
        return expression
    plain = without_texts(expression)
    parts: list[str] = []
    end = 0
    for found in _TERM.finditer(plain):
        term = expression[found.start("term") : found.end("term")]
        value = _value(term)
        was = term
        if value is None and (through := followed(term)) is not None:
            term, value = through, _value(through)
        kind = None if value is None else kind_of(value.type)
        if not kind or found[0].strip() == expression.strip() == was:
            if term != was:
                parts += [expression[end : found.start("term")], term]
                end = found.end("term")
            continue
        of = _held(value.type)
        last = found.end("term") if found["method"] is None else found.end()
        behind = plain[last:]
        none = _NONE.match(behind) if kind == "optional" else None
        before = plain[: found.start()]
        compared = bool(_COMPARES_BEHIND.match(behind) or _COMPARES_BEFORE.search(before))
        if kind in POINTERS:
            asked = compared or bool(_ASKS_BEHIND.match(behind) or _ASKS_BEFORE.search(before))
            said = _of_pointer(found, f"(({of} *) $_rdb_in({term}))", asked)
        elif kind == "atomic":
            said = f"(*({of} *) &{term})" if found["method"] in (None, "load") else None
        elif none or found["method"] == "has_value":
            sign = "!" if none and none[1] == "=" else ""
            last += none.end() if none else 0
            said = f"({sign}$_rdb_has({term}))"
        elif found["star"] is not None or found["method"] == "value":
            said = f"(*({of} *) $_rdb_in({term}))"
        elif found["dot"] == "->":
            said = f"(({of} *) $_rdb_in({term}))"
        elif compared:
            said = f"(*({of} *) $_rdb_in({term}))"
        else:
            said = f"$_rdb_has({term})"
        if said is None or not _is_type(of):
            continue
        start = found.start("star" if kind != "atomic" and found["star"] else "term")
        parts += [expression[end:start], said]
        end = last
    return "".join([*parts, expression[end:]])


def _held(of: Any) -> Any:
    """The type of what an object of a type OF holds or points at."""
    held = of.strip_typedefs().template_argument(0)
    return held.target() if held.code == gdb.TYPE_CODE_ARRAY else held


def followed(term: str) -> str | None:
    """TERM with a pointer for each object before `->` that GDB cannot follow; None: no use.

    Raises gdb.error if one is optimized out.
    """
    said, at, empty = "", 0, False
    for arrow in re.finditer("->", term):
        head = said + term[at : arrow.start()]
        value = _value(head)
        if value is None:
            return None
        if kind_of(value.type) in (*POINTERS, "optional"):
            part = _pointer(value)
            empty = empty or (kind_of(value.type) == "optional" and not _has(value))
            if value.is_optimized_out and (part is None or part.is_optimized_out):
                raise gdb.error(f"{head} is optimized out.")
            head = f"(({_held(value.type)} *) $_rdb_in({head}))"
        said, at = head, arrow.start()
    whole = said + term[at:]
    if whole == term:
        return None
    return whole if empty or _value(whole) is not None else None  # empty: `$_rdb_in` says so


def _of_pointer(found: re.Match[str], pointer: str, asked: bool) -> str | None:
    """What stands for the smart pointer that was FOUND; None: it stays.  ASKED: whether it is null,
    or equal to another one."""
    if found["star"] is not None:
        return None if found["dot"] else f"(*{pointer})"
    follows = found["dot"] == "->" and not found["method"]
    alone = asked and not found["dot"]
    return pointer if follows or alone or found["method"] == "get" else None


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
    """`atomic`, `optional` or the kind of a smart pointer; None: another type."""
    found = _CLASS.match(of.unqualified().strip_typedefs().name or "")
    return found[1] if found else None


def truth(value: Any) -> Any:
    """The value of an atomic, whether an optional has one, the pointer in a smart one."""
    if kind_of(value.type) in POINTERS:
        return _pointed(value)
    return _inner(value).dereference() if kind_of(value.type) == "atomic" else _has(value)


def inner(value: Any) -> Any:
    """The value in an atomic or an optional; None: there is none, or it is a smart pointer."""
    if kind_of(value.type) in POINTERS:
        return None
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
    """Address of the value in a std::optional; what a smart pointer points at."""
    if kind_of(value.type) in POINTERS:
        return _pointed(value)
    if not _has(value):
        raise gdb.GdbError("The std::optional has no value.")
    return _inner(value)


def _pointed(value: Any) -> Any:
    found = _pointer(value)
    if found is None:
        raise gdb.GdbError(f"rdb does not know where a {value.type} keeps its pointer.")
    return found


def _pointer(value: Any) -> Any:
    """The pointer in the object, whose parts may be in registers; None: not found."""
    for field in value.type.strip_typedefs().fields():
        if not hasattr(field, "bitpos") or _DELETER.match(field.type.name or ""):
            continue  # static, or no part of the pointer
        of = field.type.strip_typedefs()
        if of.code == gdb.TYPE_CODE_PTR:
            return value[field]
        found = _pointer(value[field]) if of.code == gdb.TYPE_CODE_STRUCT else None
        if found is not None:
            return found
    return None
