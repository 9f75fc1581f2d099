"""Rust: elements of its containers by their number (`v[3]`), `v.len()`, `v.is_empty()` and
`o.is_some()`, which GDB cannot call."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import arrays, elements, symbols
from .functions import function
from .operands import closing, operand_start
from .quoting import without_texts

_CALL = re.compile(r"\.\s*(len|is_empty|is_some|is_none)\s*\(\s*\)")
_CALLS = {
    "len": "$_rdb_count({})",
    "is_empty": "($_rdb_count({}) == 0)",
    "is_some": "$_rdb_some({})",
    "is_none": "(!$_rdb_some({}))",
}
# Where the number of elements is: of Vec and VecDeque, slices and BTreeMap, String, BTreeSet,
# HashMap, HashSet.
_COUNTS = (
    *("len", "length", "vec.len", "map.length"),
    *("base.table.table.items", "base.map.table.table.items", "map.base.table.table.items"),
)


def for_gdb(expression: str) -> str:
    while True:
        plain = without_texts(expression)
        found = _CALL.search(plain)
        if found is None:
            break
        start = operand_start(plain, found.start())
        of = expression[start : found.start()]
        call = _CALLS[found[1]].format(of)
        expression = expression[:start] + call + expression[found.end() :]
    place = -1
    while (place := (plain := without_texts(expression)).find("[", place + 1)) >= 0:
        start, end = operand_start(plain, place), closing(plain, place)
        of = expression[start:place]
        if not of.strip() or not end or not _is_container(of):
            continue
        index = for_gdb(expression[place + 1 : end])
        call = f"(*$_rdb_item({of}, {index}))"
        expression = expression[:start] + call + expression[end + 1 :]
        place = start + len(call) - 1
    return expression


def _is_container(text: str) -> bool:
    try:
        value = _behind(symbols.evaluated(text))
    except gdb.error:
        return False
    return _has_elements(value)


def _behind(value: Any) -> Any:
    """What a reference, which is a pointer to GDB, leads to."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        value = value.dereference()
    return value


def _has_elements(value: Any) -> bool:
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return False
    return arrays.OF_RUST.match(kind.name or "") is not None


@function("_rdb_item")
def _item(value: Any, index: Any) -> Any:
    """$_rdb_item(v, 3): pointer to that element of a Vec or VecDeque."""
    value, number = _behind(value), int(index)
    try:
        start, head = arrays.start_in_rust(value), elements.inner(value, "head")
        count, of = int(value["len"]), value.type.strip_typedefs().template_argument(0)
        place = number if head is None else (int(head) + number) % arrays.capacity(value)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if not 0 <= number < count:
        raise gdb.GdbError(f"The index is {number}, but the length is {count}.")
    return gdb.Value(start + place * of.sizeof).cast(of.pointer())


@function("_rdb_count")
def _count(value: Any) -> Any:
    """$_rdb_count(v): the number of elements of a container of Rust."""
    value = _behind(value)
    found = (elements.inner(value, path) for path in _COUNTS)
    count = next((one for one in found if one is not None), None)
    if count is None:
        raise gdb.GdbError(f"rdb does not know the length of a {value.type}.")
    return gdb.Value(int(count))


@function("_rdb_some")
def _some(value: Any) -> Any:
    """$_rdb_some(o): has an Option a value?"""
    value = _behind(value)
    if not re.match(r"core::option::Option<", value.type.strip_typedefs().name or ""):
        raise gdb.GdbError(f"A {value.type} is no Option.")
    return gdb.Value("::None" not in str(value.format_string(max_elements=1)).partition("(")[0])
