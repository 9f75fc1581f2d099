"""Elements of std::map and std::unordered_map by their keys: `m["key"]`, `m[3].x`.

GDB would call the program's operator [], which adds a missing key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gdb

from . import elements, nodes, operators, reserved, rustlang, symbols, texts
from .functions import function
from .operands import closing, operand_start
from .quoting import TEXTS, without_texts

_CALLS = re.compile(r"(?<!\$_rdb_bound)(?<!\$_rdb_element)(?<=\w)\s*\(")
_LANGUAGES = ("c++", "c", "asm")  # of frames of libraries, too
MAP = r"std::(\w+::)*(unordered_)?map<"
_WHOLE = (*(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL), gdb.TYPE_CODE_CHAR)


def for_gdb(expression: str) -> str:
    """EXPRESSION with a call of $_rdb_element for each subscript of a map, and with Fortran's names
    that GDB does not take."""
    if elements.language("") == "rust":
        return rustlang.for_gdb(expression)
    expression = reserved.for_gdb(operators.for_gdb(expression))
    if "[" not in expression or elements.language("") not in _LANGUAGES:
        return expression
    place = -1
    while True:
        plain = without_texts(expression)
        place = plain.find("[", place + 1)
        if place < 0:
            return expression
        end, start = closing(plain, place), operand_start(plain, place)
        term = expression[start:place].strip()
        kind = _kind(term) if term and end else None
        if kind is not None:
            key = for_gdb(expression[place + 1 : end])
            call = _call(f"$_rdb_element({term}, {key})", kind)
            expression = expression[:start] + call + expression[end + 1 :]
            place = start + len(call) - 1


def all_of(expression: str) -> list[str]:
    """The parts of EXPRESSION that are operands with a subscript."""
    plain = without_texts(expression)
    places = [found.start() for found in re.finditer(r"\[", plain)]
    return [expression[operand_start(plain, at) : closing(plain, at) + 1] for at in places]


def _call(call: str, kind: Any) -> str:
    """The element that CALL points to.  GDB knows its type without a call, if it has a name."""
    try:
        symbols.evaluated(f"({kind} *) 0")
    except gdb.error:
        return f"(*{call})"
    return f"(*({kind} *) {call})"


def _kind(term: str) -> Any:
    """The type of the map's elements; None: the term is no map."""
    if _CALLS.search(TEXTS.sub("", term)):
        return None  # the call may have effects
    try:
        value = _map(symbols.evaluated(term))
    except gdb.error:
        return None
    return None if value is None else nodes.argument(value, 1)


def _map(value: Any) -> Any:
    """The map that a value is, or refers to, or is derived from; None: it is none."""
    value = elements.referent(value)
    if value.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return None
    value = nodes.of_library(value)
    return value if re.match(MAP, value.type.name or "") else None


@function("_rdb_element")
def element(value: Any, key: Any) -> Any:
    """$_rdb_element(MAP, KEY): pointer to the element with that key."""
    found = _map(value)
    if found is None:
        raise gdb.GdbError(f"A value of type {value.type} is no map.")
    try:
        address = _found(found, key)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if address is None:
        shown = key.format_string() if texts.text_of(key) is None else f'"{texts.text_of(key)}"'
        raise gdb.GdbError(f"The map has no key {shown}.")
    return gdb.Value(address).cast(nodes.argument(found, 1).pointer())


def _found(value: Any, key: Any) -> int | None:
    all_ = nodes.nodes(value)
    assert all_ is not None and all_.key is not None
    at, kind = all_.key
    compares = value.type.template_argument(3 if all_.walk == nodes.CHAIN else 2).strip_typedefs()
    if not re.match(r"std::(\w+::)*(less|greater|equal_to)<", compares.name or ""):
        raise gdb.error(f"The map compares keys by {compares}, which rdb does not call.")
    wanted = _wanted(key, kind)
    root = elements.inner(value, "_M_t._M_impl._M_header._M_parent")
    sorted_ = root is not None and "less<" in compares.name
    for node in _way(int(root), all_, wanted, kind) if sorted_ else all_.places():
        if _read(node + at, kind) == wanted:
            return node + all_.way[0]
    return None


def _way(node: int, all_: Any, wanted: Any, kind: Any) -> Iterator[int]:
    """The nodes from the root of a tree down to where the key is, or would be."""
    while node:
        yield node
        left, right = all_.way[1], all_.way[2]
        node = nodes.pointer(node + (left if wanted < _read(node + all_.key[0], kind) else right))


def _wanted(key: Any, kind: Any) -> bytes | int:
    """The key as a map with keys of this type has it."""
    literal = texts.text_of(key)
    if kind.code not in _WHOLE:
        return texts.bytes_of(key) if literal is None else literal.encode()
    if literal is not None:
        raise gdb.error(f"The map has keys of type {kind}, no texts.")
    return int(key.cast(kind))


def _read(address: int, kind: Any) -> bytes | int:
    value = gdb.Value(address).cast(kind.pointer()).dereference()
    return int(value) if kind.code in _WHOLE else texts.bytes_of(value)
