"""The names in an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import gdb

from . import cpython, dlang, elements, predicates, pynames, pyvalues, symbols
from .lookups import Unbound, is_function, seen, value_key
from .own_frames import lacks
from .quoting import Unreadable

_TEXTS_AND_NUMBERS = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])\.?\d[\w.]*"
_NO_NAMES = re.compile(_TEXTS_AND_NUMBERS)
_NO_NAMES_OF_FORTRAN = re.compile(rf"{_TEXTS_AND_NUMBERS}|\.[A-Za-z]+\.")
_NAME = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_NAME_OF_GO = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)?")  # package.variable
_NAME_OF_D = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*")  # module.variable.member
_OF_A_TYPE = re.compile(r"\s*=(?!=)")  # real(kind=8)
_MEMBER = re.compile(r"(?:\.|->|%|\$|@|::)\s*\Z")


def names(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, name) of each variable's name, without members, registers, convenience variables
    and names of Python."""
    if cpython.running() is None:
        yield from _all_names(text)
        return
    within = predicates.arguments(text)
    whole = pyvalues.expression(predicates.rest(text)) is not None
    for start, end, name in _all_names(text):
        of_python = whole or any(first <= start < last for first, last in within)
        if not of_python or pynames.is_of_c(name):
            yield start, end, name


def names_of_python(text: str) -> list[str]:
    """The Python names in predicates and in an expression of Python, if Python runs."""
    if cpython.running() is None:
        return []
    within = predicates.arguments(text)
    found = [
        name
        for start, _, name in _all_names(text)
        if any(first <= start < last for first, last in within)
    ]
    return [*found, *pyvalues.names(predicates.rest(text))]


def _all_names(text: str) -> Iterator[tuple[int, int, str]]:
    plain = without_texts(text)
    functions = predicates.words(text)
    language = elements.language("")
    name = {"go": _NAME_OF_GO, "d": _NAME_OF_D}.get(language, _NAME)
    for found in name.finditer(plain):
        before = plain[: found.start()]
        if found.start() in functions or _OF_A_TYPE.match(plain, found.end()):
            continue
        if not _MEMBER.search(before) and not re.search(r"\w\Z", before):
            whole = _whole(found, language)
            yield found.start(), found.start() + len(whole), whole


def without_texts(text: str) -> str:
    """TEXT with blanks for parts without names: strings, numbers, operators such as .and."""
    none = _NO_NAMES_OF_FORTRAN if elements.language("") == "fortran" else _NO_NAMES
    return none.sub(lambda found: " " * len(found[0]), text)


def _whole(found: re.Match[str], language: str) -> str:
    """The matched name without members of the variable."""
    if "." not in found[0]:
        return found[0]
    if language == "d":
        return dlang.longest(found[0], gdb.selected_frame().function())
    return found[0] if seen(found[0]) else found[1]


def replaced(text: str, known: Mapping[str, str]) -> str:
    """TEXT with the names in KNOWN replaced."""
    result, end = "", 0
    for start, stop, name in names(text):
        if name in known:
            result += text[end:start] + known[name]
            end = stop
    return result + text[end:]


def unknown_everywhere(text: str) -> str | None:
    """The first name that neither the program nor a library nor Python ever has; None: none.

    Raises Unreadable if the text is no expression even without such names.
    """
    unbound: list[tuple[int, int, str]] = []
    for start, end, name in names(text):
        try:
            value_key(name)
        except Unbound:
            unbound.append((start, end, name))
    if not unbound:
        return None  # before the costly question: the server reads all debug information for it
    python = cpython.running() is not None or not lacks("_PyRuntime", libraries_too=True)
    if python and pyvalues.is_written_so(predicates.rest(text)):
        return None  # Python may get it later
    within = predicates.arguments(text) if python else []
    unknown = {  # is it called?
        name: text[end:].lstrip().startswith("(")
        for start, end, name in unbound
        if not any(first <= start < last for first, last in within)
    }
    sought = (name for name, called in unknown.items() if not called)
    found = next((one for one in sought if lacks(one, libraries_too=True)), None)
    if found is not None:
        _need_readable(replaced(text, dict.fromkeys(unknown, "$_rdb_none")))
    return found


def _need_readable(text: str) -> None:
    try:
        symbols.evaluated(predicates.in_gdbs(text))
    except gdb.error as error:
        if "syntax error" in str(error):
            raise Unreadable(str(error)) from None


def functions_named(text: str) -> list[int]:
    """Addresses of the functions in names FUNCTION::VARIABLE, and of their blocks with such a
    variable."""
    found: list[int] = []
    for _, _, name in names(text):
        function, _, variable = name.rpartition("::")
        if function and is_function(function):
            for place in gdb.decode_line(function)[1] or ():
                found += [place.pc, *_blocks_with(variable, place)]
    return found


def _blocks_with(variable: str, place: Any) -> Iterator[int]:
    """The first line of each block with such a variable in the function at PLACE."""
    function = gdb.block_for_pc(place.pc)
    if function is None or place.symtab is None:
        return
    seen = {(function.start, function.end)}
    for line in place.symtab.linetable():
        block = gdb.block_for_pc(line.pc) if function.start <= line.pc < function.end else None
        while block is not None and (block.start, block.end) not in seen:
            seen.add((block.start, block.end))
            if any(one.name.lower() == variable.lower() for one in block):
                yield line.pc
            block = block.superblock
