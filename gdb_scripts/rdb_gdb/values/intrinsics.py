"""Language features that GDB lacks: parts of complex numbers, functions of <math.h> and Fortran,
logical values of 16 bytes, operators of C in Fortran."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import gdb

from ..loading import at_load
from . import elements, symbols, texts, tuples, wrapped
from .functions import Function
from .own_frames import own_symtab
from .quoting import TEXTS

_OF_ONE: dict[str, Callable[[float], bool | float]] = {
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
    "sqrt": lambda one: math.sqrt(one) if one >= 0 or one != one else math.nan,
}
_PARTS_IN_C = {
    **{f"c{part}{kind}": part for part in ("real", "imag", "abs") for kind in ("", "f", "l")},
    **{name: "abs" for name in ("abs", "labs", "llabs", "fabs", "fabsf", "fabsl")},
    **{name: name for name in _OF_ONE},
    **{"sqrtf": "sqrt", "sqrtl": "sqrt"},
}
_PARTS_IN_FORTRAN = {
    **{"isnan": "isnan", "ieee_is_nan": "isnan", "ieee_is_finite": "isfinite"},
    **{"sqrt": "sqrt", "dsqrt": "sqrt", "dabs": "abs", "iabs": "abs"},
    **{"real": "real", "dble": "real", "realpart": "real"},
    **{"aimag": "imag", "dimag": "imag", "imagpart": "imag", "imag": "imag"},
    **{"abs": "abs", "cabs": "abs", "cdabs": "abs", "zabs": "abs"},
    **{"len": "len", "len_trim": "len_trim"},
}
# z%re and z%im (Fortran 2008, 9.4.4).
_PART_OF = re.compile(
    r"(?P<of>(?:\(\*[\w$()]+\)|(?<![\w$%])[$\w]+)(?:\s*%\s*\w+|\s*\([^()]*\))*?)"
    r"\s*%\s*(?P<part>re|im)\b(?!\s*[%(\w])",
    re.IGNORECASE,
)
_TRUTHS = re.compile(r"(?<![\w$.>:])(?:true|false)\b")  # of C, where GDB does not know them
# Fortran intrinsics that GDB has; a library may have functions of these names.
_OF_GDB = (
    *(
        "abs",
        "allocated",
        "associated",
        "ceiling",
        "cmplx",
        "floor",
        "kind",
        "lbound",
        "loc",
        "mod",
    ),
    *("modulo", "rank", "shape", "size", "sizeof", "trim", "ubound"),
)
_CALL = re.compile(r"(?<![\w$.>:%])((?:(?:::)?\bstd::)?[A-Za-z]\w*)(?=\s*\()")
_SIGNS_OF_C = {"&&": " .and. ", "||": " .or. ", "!=": "/=", "!": " .not. "}
_LOGICAL_MAX = 8  # bytes that GDB reads


def calls(expression: str) -> dict[int, tuple[str, str]]:
    """Offset of a call of such a function -> its name, and the name to call instead."""
    fortran = elements.language("") == "fortran"
    known = _PARTS_IN_FORTRAN if fortran else _PARTS_IN_C
    plain = TEXTS.sub(lambda found: " " * len(found[0]), expression)
    found = {}
    for one in _CALL.finditer(plain):
        name = one[1].lower() if fortran else re.sub(r"^(?:::)?std::", "", one[1])
        if name in known and not _is_the_programs(one[1]):
            found[one.start()] = (one[1], f"$_rdb_{known[name]}")
        elif fortran and name in _OF_GDB and not _is_the_programs(one[1]):
            found[one.start()] = (one[1], one[1])
    return found


def words(expression: str) -> set[int]:
    """Offsets of names that GDB does not have."""
    named = [tuples.CALL, wrapped.NULLOPT, *_truths()]
    return {*calls(expression), *(one.start() for way in named for one in way.finditer(expression))}


def _truths() -> list[re.Pattern[str]]:
    in_c = elements.language("") in ("c", "asm")
    return [_TRUTHS] if in_c and not _is_the_programs("true") else []


def of_classes(expression: str) -> str:
    """EXPRESSION without std::get, and with the values of atomics and optionals."""
    return wrapped.for_gdb(tuples.for_gdb(expression))


def _is_the_programs(name: str) -> bool:
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        symbol = gdb.lookup_global_symbol(name)
    if symbol is None or symbol.addr_class == gdb.SYMBOL_LOC_TYPEDEF:  # `real` is a type, too
        return False
    return symbol.symtab is None or own_symtab(symbol.symtab)


def for_gdb(expression: str) -> str:
    expression = texts.for_gdb(of_classes(expression))
    for way in _truths():
        expression = way.sub(lambda found: str(int(found[0] == "true")), expression)
    if elements.language("") == "fortran":
        expression = _PART_OF.sub(_part_of, expression)
        expression = re.sub(
            rf"{TEXTS.pattern}|&&|\|\||!=?",
            lambda found: _SIGNS_OF_C.get(found[0], found[0]),
            expression,
            flags=re.DOTALL,
        )
    result, end = "", 0
    for start, (name, other) in sorted(calls(expression).items()):
        result += expression[end:start] + other
        end = start + len(name)
    return result + expression[end:]


def has_part(expression: str) -> bool:
    """Has it `z%re` or `z%im`, perhaps of a complex number?"""
    return _PART_OF.search(TEXTS.sub(" ", expression)) is not None


def _part_of(found: re.Match[str]) -> str:
    """A call for the part of a complex number; `%re` may also be a component."""
    try:
        kind = elements.referent(gdb.parse_and_eval(found["of"])).type.strip_typedefs()
    except gdb.error:
        return found[0]
    part = {"re": "real", "im": "imag"}[found["part"].lower()]
    return f"$_rdb_{part}({found['of']})" if kind.code == gdb.TYPE_CODE_COMPLEX else found[0]


def _part(part: str, value: Any) -> Any:
    value = elements.referent(value)
    if value.type.strip_typedefs().code != gdb.TYPE_CODE_COMPLEX:
        number = value if part == "abs" else value.cast(gdb.lookup_type("double"))
        return {"real": number, "imag": gdb.Value(0.0), "abs": abs(number)}[part]
    gdb.set_convenience_variable("_rdb_complex", value)
    real, imaginary = (gdb.parse_and_eval(f"$_c{one}($_rdb_complex)") for one in ("real", "imag"))
    if part == "abs":
        return gdb.Value(abs(complex(float(real), float(imaginary))))
    return real if part == "real" else imaginary


def _of_one(name: str, value: Any) -> Any:
    return gdb.Value(_OF_ONE[name](float(elements.referent(value))))


def narrowed(value: Any) -> Any:
    """A logical value of more than 8 bytes, which GDB cannot read, as true or false."""
    if not _is_long(value) or value.address is None:
        return value
    length = value.type.strip_typedefs().sizeof
    return gdb.Value(any(gdb.selected_inferior().read_memory(int(value.address), length).tobytes()))


def _is_long(value: Any) -> bool:
    kind = value.type.strip_typedefs()
    return bool(kind.code == gdb.TYPE_CODE_BOOL and kind.sizeof > _LOGICAL_MAX)


class _Logical:
    def __init__(self, value: Any) -> None:
        self._value = value

    def to_string(self) -> str:
        return str(narrowed(self._value).format_string())


def _printer(value: Any) -> _Logical | None:
    return _Logical(value) if _is_long(value) and value.address is not None else None


@at_load
def define() -> None:
    for part in ("real", "imag", "abs"):
        help_ = f"The {part} of a complex or real number."
        Function(f"_rdb_{part}", partial(_part, part), help_)
    Function("_rdb_len", texts.length, "The length of a text of Fortran.")
    Function("_rdb_len_trim", texts.length_trimmed, "That without the blanks at its end.")
    for name in _OF_ONE:
        Function(f"_rdb_{name}", partial(_of_one, name), f"{name} of a number.")
    gdb.pretty_printers.append(_printer)
