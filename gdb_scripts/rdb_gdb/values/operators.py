"""Parentheses where GDB applies operators in another order than Fortran.

It takes `-a%n` for `(-a)%n`, `-a**2` for `(-a)**2`, `.not. a == b` for `(.not. a) == b`, `.eqv.`
for `==`, and in `a > 3.and.b` it does not see where the number ends.
"""

from __future__ import annotations

import re

from . import elements

_TEXT = r"'(?:''|[^'])*'|\"[^\"]*\""
_INSIDE = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # parentheses, two deep
_OPERAND = (
    rf"(?:\$?[A-Za-z_][\w$:]*|\(\*[\w$()]+\)|\d[\w.]*|\({_INSIDE}\))"
    rf"(?:\s*%\s*\w+|\s*\({_INSIDE}\))*(?![\w(%]|\s*[(%])"
)
_SIGNED = re.compile(
    rf"{_TEXT}|(?<!\d[eEdD])(?P<sign>[-&~])\s*(?P<of>{_OPERAND}(?:\s*\*\*\s*-?\s*{_OPERAND})*)"
)
_NUMBER = re.compile(rf"({_TEXT})|(?<=\d)(?=\.[A-Za-z]+\.)")
_TOKEN = re.compile(rf"{_TEXT}|\.[A-Za-z]+\.|&&|\|\||.", re.DOTALL)
_LAST = (".eqv.", ".neqv.")
_LATER = (*_LAST, ".and.", ".or.", "&&", "||", ",")  # than .not.


def for_gdb(text: str) -> str:
    if elements.language("") != "fortran":
        return text
    text = _NUMBER.sub(lambda found: found[1] or " ", text)
    tokens = _SIGNED.sub(_signed, text)
    return "".join(_logical([found[0] for found in _TOKEN.finditer(tokens)]))


def _signed(found: re.Match[str]) -> str:
    operand = found["of"]
    if operand is None or not re.search(r"%|\*\*", operand):
        return found[0]
    return f"{found['sign']}({_SIGNED.sub(_signed, operand)})"


def _logical(tokens: list[str]) -> list[str]:
    for place in reversed(range(len(tokens))):
        operator = tokens[place].lower()
        if operator == ".not." or operator in _LAST:
            end = _end(tokens, place, 1, _LATER if operator == ".not." else (*_LAST, ","))
            tokens[place + 1 : end] = ["(", *tokens[place + 1 : end], ")"]
        if operator in _LAST:
            start = _end(tokens, place, -1, ",") + 1
            tokens[start:place] = ["(", *_logical(tokens[start:place]), ")"]
            return tokens
    return tokens


def _end(tokens: list[str], place: int, step: int, ends: tuple[str, ...] | str) -> int:
    """Index of the token behind the operand that begins beside PLACE."""
    depth = 0
    for at in range(place + step, len(tokens) if step > 0 else -1, step):
        depth += step * ((tokens[at] == "(") - (tokens[at] == ")"))
        if depth < 0 or (depth == 0 and tokens[at].lower() in ends):
            return at
    return len(tokens) if step > 0 else -1
