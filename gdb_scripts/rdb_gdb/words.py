"""The names in an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import gdb

from . import cpython, dlang, elements, predicates, pynames
from .lookups import is_function, seen

_TEXTS_AND_NUMBERS = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])\.?\d[\w.]*"
_NO_NAMES = re.compile(_TEXTS_AND_NUMBERS)
_NO_NAMES_OF_FORTRAN = re.compile(rf"{_TEXTS_AND_NUMBERS}|\.[A-Za-z]+\.")
_NAME = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_NAME_OF_GO = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)?")  # package.variable
_NAME_OF_D = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*")  # module.variable.member
_MEMBER = re.compile(r"(?:\.|->|%|\$|@|::)\s*\Z")


def names(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, name) of each name that is no member's, register's or other variable's, nor one
    of Python's."""
    for start, end, name in _all_names(text):
        if not _within_python(text, start) or pynames.is_of_c(name):
            yield start, end, name


def names_of_python(text: str) -> list[str]:
    """In predicates, where Python runs."""
    found = _all_names(text)
    return [name for start, _, name in found if _within_python(text, start)]


def _within_python(text: str, at: int) -> bool:
    if cpython.running() is None:
        return False
    return any(first <= at < last for first, last in predicates.arguments(text))


def _all_names(text: str) -> Iterator[tuple[int, int, str]]:
    plain = without_texts(text)
    functions = predicates.words(text)
    language = elements.language("")
    name = {"go": _NAME_OF_GO, "d": _NAME_OF_D}.get(language, _NAME)
    for found in name.finditer(plain):
        before = plain[: found.start()]
        if found.start() in functions:
            continue
        if not _MEMBER.search(before) and not re.search(r"\w\Z", before):
            whole = _whole(found, language)
            yield found.start(), found.start() + len(whole), whole


def without_texts(text: str) -> str:
    """Blanks for what holds no names: texts, numbers, operators such as .and."""
    none = _NO_NAMES_OF_FORTRAN if elements.language("") == "fortran" else _NO_NAMES
    return none.sub(lambda found: " " * len(found[0]), text)


def _whole(found: re.Match[str], language: str) -> str:
    """Without the members of what is named."""
    if "." not in found[0]:
        return found[0]
    if language == "d":
        return dlang.longest(found[0], gdb.selected_frame().function())
    return found[0] if seen(found[0]) else found[1]


def replaced(text: str, known: Mapping[str, str]) -> str:
    """With other words for the names that are KNOWN."""
    result, end = "", 0
    for start, stop, name in names(text):
        if name in known:
            result += text[end:start] + known[name]
            end = stop
    return result + text[end:]


def functions_named(text: str) -> list[int]:
    """Where the functions begin of which FUNCTION::VARIABLE names a local."""
    found: list[int] = []
    for _, _, name in names(text):
        function = name.rpartition("::")[0]
        if function and is_function(function):
            found += [one.pc for one in gdb.decode_line(function)[1] or ()]
    return found
