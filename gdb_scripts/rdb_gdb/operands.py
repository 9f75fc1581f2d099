"""The parts of an expression that are in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

import gdb

# Names with their members and elements: a, a.b, p->q[i].r; not calls.
_TERM = re.compile(r"(?<![\w$])[A-Za-z_]\w*(?:::\w+)*(?:\s*(?:\.|->)\s*\w+|\[[^\[\]]*\])*(?!\s*\()")


def operands(expression: str) -> Iterator[tuple[int, int]]:
    """(address, length) of each, seen from the selected frame; what has no address is left out."""
    plain = re.sub(r"\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'", " ", expression)
    for term in dict.fromkeys(_TERM.findall(plain)):
        try:
            value = gdb.parse_and_eval(term)
            if value.address is not None and value.type.sizeof:
                yield int(value.address), value.type.sizeof
        except gdb.error:
            continue  # a type's name, a constant, an operand without a value here
