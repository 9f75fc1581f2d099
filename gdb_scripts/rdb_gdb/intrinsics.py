"""What the languages have and GDB has not: parts of complex numbers, logical values of 16 bytes."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import elements, symbols
from .own_frames import own_symtab

_PARTS_IN_C = {
    f"c{part}{kind}": part for part in ("real", "imag", "abs") for kind in ("", "f", "l")
}
_PARTS_IN_FORTRAN = {
    **{"real": "real", "dble": "real", "realpart": "real"},
    **{"aimag": "imag", "dimag": "imag", "imagpart": "imag", "imag": "imag"},
    **{"abs": "abs", "cabs": "abs", "cdabs": "abs", "zabs": "abs"},
}
# GDB has these of Fortran; in a library the name is that of a function.
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
    *("modulo", "rank", "shape", "size", "sizeof", "ubound"),
)
_CALL = re.compile(r"(?<![\w$.>:%])([A-Za-z]\w*)(?=\s*\()")
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
_LOGICAL_MAX = 8  # bytes that GDB reads


def calls(expression: str) -> dict[int, tuple[str, str]]:
    """Where such a function is called -> its name, and what to call instead."""
    fortran = elements.language("") == "fortran"
    known = _PARTS_IN_FORTRAN if fortran else _PARTS_IN_C
    plain = _TEXTS.sub(lambda found: " " * len(found[0]), expression)
    found = {}
    for one in _CALL.finditer(plain):
        name = one[1].lower() if fortran else one[1]
        if name in known and not _is_the_programs(one[1]):
            found[one.start()] = (one[1], f"$_rdb_{known[name]}")
        elif fortran and name in _OF_GDB and not _is_the_programs(one[1]):
            found[one.start()] = (one[1], one[1])
    return found


def _is_the_programs(name: str) -> bool:
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        symbol = gdb.lookup_global_symbol(name)
    if symbol is None or symbol.addr_class == gdb.SYMBOL_LOC_TYPEDEF:  # `real` is a type, too
        return False
    return symbol.symtab is None or own_symtab(symbol.symtab)


def for_gdb(expression: str) -> str:
    result, end = "", 0
    for start, (name, other) in sorted(calls(expression).items()):
        result += expression[end:start] + other
        end = start + len(name)
    return result + expression[end:]


class _Part(gdb.Function):
    def __init__(self, part: str) -> None:
        self.__doc__ = f"The {part} of a complex or real number."
        super().__init__(f"_rdb_{part}")
        self._part = part

    def invoke(self, value: Any) -> Any:
        if value.type.strip_typedefs().code != gdb.TYPE_CODE_COMPLEX:
            number = value if self._part == "abs" else value.cast(gdb.lookup_type("double"))
            return {"real": number, "imag": gdb.Value(0.0), "abs": abs(number)}[self._part]
        gdb.set_convenience_variable("_rdb_complex", value)
        real, imaginary = (
            gdb.parse_and_eval(f"$_c{part}($_rdb_complex)") for part in ("real", "imag")
        )
        if self._part == "abs":
            return gdb.Value(abs(complex(float(real), float(imaginary))))
        return real if self._part == "real" else imaginary


def narrowed(value: Any) -> Any:
    """A logical value that is too long for GDB: true or false."""
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


def define() -> None:
    for part in ("real", "imag", "abs"):
        _Part(part)
    gdb.pretty_printers.append(_printer)
