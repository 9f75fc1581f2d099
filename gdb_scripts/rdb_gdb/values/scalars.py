"""Scalars of an expression as arrays of one element, which the agent can read at many events."""

from __future__ import annotations

import re
import struct
from typing import Any

import gdb

from . import elements, symbols
from .arrays import Array, is_of_bits, kind_of
from .elementwise import Plan, alone
from .functions import PLACEHOLDER

# A variable, or what stands for it (variables.py), with members and constant subscripts; no
# function, no part of a larger term, and nothing that is changed or of which more is taken.
_VARIABLE = rf"(?:{PLACEHOLDER}|(?:\w+::)*[A-Za-z_]\w*)"
_ALONE = r"(?![\w$]|\s*(?:[(\[@]|->|::|=(?!=)|\+\+|--))"
_TERM = re.compile(
    rf"(?<![\w$.>:)\]]){_VARIABLE}(?:\s*(?:\.|->)\s*[A-Za-z_]\w*|\[\d+\])*(?!\s*\.){_ALONE}"
)
_TERM_OF_FORTRAN = re.compile(rf"(?<![\w$.%)]){_VARIABLE}(?:\s*%\s*[A-Za-z_]\w*)*(?!\s*%){_ALONE}")
_ADDRESS_OR_STEP = re.compile(r"(?:^|&&|[^\w\s)\]&])\s*&\s*\Z|(?:\+\+|--)\s*\Z")
_NUMBERS = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_BOOL),
    *(gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM),
)
_REALS = {2: "<e", 4: "<f", 8: "<d"}
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def planned(text: str, first: int) -> tuple[str, list[Plan]]:
    """TEXT with $_rdb_foldN, N from FIRST on, in place of scalars in memory, and their plans."""
    plans: list[Plan] = []

    def folded(found: re.Match[str]) -> str:
        taken = _ADDRESS_OR_STEP.search(text[: found.start()])
        plan = None if taken else _of_term(found[0])
        if plan is None:
            return found[0]
        plans.append(plan)
        return f"$_rdb_fold{first + len(plans) - 1}"

    term = _TERM_OF_FORTRAN if elements.language("") == "fortran" else _TERM
    return term.sub(folded, text), plans


def _of_term(text: str) -> Plan | None:
    try:
        value = elements.referent(symbols.evaluated(text))
        type_ = value.type.strip_typedefs()
        if type_.code not in _NUMBERS or type_.sizeof > 8 or value.address is None:
            return None
        if _in_bits(text):
            return None
        array = Array(int(value.address), kind_of(type_, text), [(0, 1, 0)], text, "")
    except gdb.error:
        return None
    return alone(array, value.type)


def _in_bits(text: str) -> bool:
    """Is it a bit field?  GDB gives it the address of the word that holds it."""
    whole = re.match(r"(.*)(\.|->|%)", text, re.DOTALL)
    if whole is None and gdb.lookup_symbol(text)[1]:  # a member of `this`
        whole = re.match(r"(this)(->)", f"this->{text}")
    if whole is None:
        return False
    kind = symbols.evaluated(whole[1]).type.strip_typedefs()
    while kind.code in (gdb.TYPE_CODE_PTR, *_REFERENCES):
        kind = kind.target().strip_typedefs()
    return is_of_bits(kind, text)


def of_type(found: float | int, type_: Any) -> Any:
    """A number as a value of GDB of this type."""
    size = type_.sizeof
    if type_.strip_typedefs().code == gdb.TYPE_CODE_FLT:
        data = struct.pack(_REALS[size], found)
    else:
        data = (int(found) % (1 << 8 * size)).to_bytes(size, "little")
    return gdb.Value(data, type_)
