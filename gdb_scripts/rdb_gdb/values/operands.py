"""Where an operand begins and ends in the text of an expression of C, C++, Python or Rust."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"(?:(?:\.|->|::)\s*)?[A-Za-z_$][\w$]*\s*\Z")
_PAIRS = {"]": "[", ")": "("}


def closing(plain: str, place: int) -> int:
    """Index of the bracket that closes the one at PLACE; 0: there is none."""
    depth = 0
    for at in range(place, len(plain)):
        depth += (plain[at] in "([") - (plain[at] in ")]")
        if depth == 0:
            return at
    return 0


def operand_start(plain: str, end: int) -> int:
    """Index at which the operand begins that ends before END."""
    start = end
    while True:
        text = plain[:start].rstrip()
        if text[-1:] in _PAIRS:
            depth, at = 1, len(text) - 1
            while at and depth:
                at -= 1
                depth += (text[at] in "])") - (text[at] in "[(")
            start = at
            if text[at] == "(" and not re.search(r"[\w$]\s*\Z", plain[:at]):
                return start
            continue
        found = _BEFORE.search(text)
        if found is None:
            return start
        start = found.start()
        if not re.match(r"\.|->|::", found[0]):
            return start
