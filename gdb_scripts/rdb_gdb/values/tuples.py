"""`std::get<N>` of a tuple, pair, array or variant, which to GDB mostly is no function."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import elements
from .functions import function

CALL = re.compile(r"(?<![\w$.>])(?:(?:::)?\bstd::)?get\s*<\s*(\d+)\s*>\s*\(")
_IN_STD = r"std::(?:\w+::)*"


def for_gdb(expression: str) -> str:
    return CALL.sub(r"$_rdb_get(\1, ", expression)


@function("_rdb_get")
def _get(number: Any, of: Any) -> Any:
    """Element NUMBER of a std::tuple, pair or array, or of a variant that has this alternative."""
    of = elements.referent(of)
    place, kind = int(number), of.type.strip_typedefs()
    found = re.match(rf"{_IN_STD}(tuple|pair|array|variant)<", kind.unqualified().name or "")
    if found is None:
        raise gdb.GdbError(
            f"std::get: a value of type {of.type} is no tuple, pair, array or variant."
        )
    if found[1] == "pair":
        return of[("first", "second")[place]] if place < 2 else _none(place, kind)
    if found[1] == "array":
        return (
            of[kind.fields()[0]][place] if place < kind.template_argument(1) else _none(place, kind)
        )
    if found[1] == "variant":
        return _alternative(place, of, kind)
    leaf = _leaf(of, place)
    return _none(place, kind) if leaf is None else leaf


def _none(place: int, kind: Any) -> Any:
    raise gdb.GdbError(f"std::get: {kind} has no element {place}.")


def _leaf(of: Any, place: int) -> Any:
    """The element in the class of a tuple that holds it; None: there is none."""
    name = of.type.strip_typedefs().name or ""
    if re.match(rf"{_IN_STD}(_Head_base<{place}|__tuple_leaf<{place})(u?l?),", name):
        inner = [one for one in of.type.strip_typedefs().fields() if not one.is_base_class]
        bases = [one for one in of.type.strip_typedefs().fields() if one.is_base_class]
        return of[(inner or bases)[0]]
    for one in of.type.strip_typedefs().fields():
        if one.is_base_class or one.name in ("__base_", "_M_t"):
            found = _leaf(of[one], place)
            if found is not None:
                return found
    return None


def _alternative(place: int, of: Any, kind: Any) -> Any:
    has = _index(of)
    if has != place:
        raise gdb.GdbError(f"std::get: the variant holds alternative {has}, not {place}.")
    return of.address.cast(kind.template_argument(place).pointer()).dereference()


def _index(of: Any) -> int:
    for one in of.type.strip_typedefs().fields():
        if one.name in ("_M_index", "__index", "__index_"):
            return int(of[one])
        if one.is_base_class or one.name in ("__impl", "__impl_"):
            found = _index(of[one])
            if found >= 0:
                return found
    return -1
