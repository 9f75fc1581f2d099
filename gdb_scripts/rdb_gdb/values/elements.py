"""Names of members and elements in the language of the program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import gdb

from . import symbols

_FORTRAN = (".f", ".for", ".ftn", ".fpp", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18")
_OF_MEMBERS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
STD_ARRAY = ("_M_elems", "__elems_")  # std::array, which has no printer
_CHILDREN = 200  # elements of a container that are shown, as GDB's `print elements`


def referent(value: Any) -> Any:
    """What a reference of C++ or Fortran refers to; any other value as it is."""
    kind = value.type.strip_typedefs().code
    return value.referenced_value() if kind in _REFERENCES else value


def language(expression: str) -> str:
    """The language of the source that has the variable; else GDB's language for the expression."""
    name = re.match(r"\s*[(*&]*([A-Za-z_]\w*)", expression)
    try:
        symbol = symbols.find(name[1])[0] if name else None
    except gdb.error:
        symbol = None  # no frame
    return "fortran" if symbol is not None and of_fortran(symbol) else symbols.language()


def of_fortran(symbol: Any) -> bool:
    file = symbol.symtab.filename if symbol.symtab is not None else ""
    return os.path.splitext(file)[1].lower() in _FORTRAN


def member(language: str, name: str) -> str:
    """The text for member NAME after a value's name."""
    if language == "rust" and re.fullmatch(r"__\d+", name):
        return f".{name[2:]}"
    return f"%{name}" if language == "fortran" else f".{name}"


def element(language: str, indices: Sequence[int | str]) -> str:
    """The text for an element; INDICES: the slowest-changing one first."""
    if language == "fortran":
        return f"({','.join(map(str, reversed(indices)))})"
    if language == "ada":
        return f"({','.join(map(str, indices))})"
    if language in ("pascal", "modula-2", "python"):
        return f"[{','.join(map(str, indices))}]"
    return "".join(f"[{index}]" for index in indices)


def inner(value: Any, path: str) -> Any:
    """A member of a member; None: there is none."""
    for name in path.split("."):
        try:
            value = value[name]
        except (gdb.error, KeyError, ValueError):
            return None
    return value


def ranges(kind: Any) -> tuple[list[tuple[int, int]], Any]:
    """The bounds of an array's dimensions, slowest-changing first, and the type of an element."""
    found = []
    kind = kind.strip_typedefs()
    while kind.code == gdb.TYPE_CODE_ARRAY and not is_text(kind):
        found.append(kind.range())
        kind = kind.target().strip_typedefs()
    return found, kind


def is_open(kind: Any) -> bool:
    """Is it an array whose upper bound is not known, although GDB has the number 0 for it?  A
    flexible array member of C, a dummy array whose extent is optimized out or not passed."""
    if not kind.dynamic or kind.sizeof:
        return False
    try:
        said = str(kind)
    except gdb.error:  # a lower bound is not known either
        return True
    return "[]" in said or said.endswith("*)")  # an empty allocatable array is dynamic, too


def is_text(kind: Any) -> bool:
    """Is it an array of characters, which is shown as one text?"""
    target = kind.target().strip_typedefs()
    return bool(target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and target.sizeof == 1)


def leaves(spoken: str, name: str, value: Any, most: int) -> Iterator[tuple[str, Any]]:
    """(name, value) of all members and elements, depth first.

    Of each dimension only the first MOST elements; the next one has the value None.
    """
    kind = value.type.strip_typedefs()
    children = _children(value)
    if children is not None:
        for inner, child in children:
            if child is None:
                yield name + inner, None
            else:
                yield from leaves(spoken, name + inner, child, most)
    elif kind.code in _OF_MEMBERS and kind.fields():
        for field in kind.fields():
            if not hasattr(field, "bitpos"):  # static: not of this value
                continue
            plain = field.is_base_class or not field.name or field.name in STD_ARRAY
            inner = name if plain else name + member(spoken, field.name)
            yield from leaves(spoken, inner, value[field], most)
    elif kind.code == gdb.TYPE_CODE_ARRAY and not is_text(kind):
        for indices, one in _elements(value, len(ranges(kind)[0]), most):
            if one is None:
                yield name + element(spoken, indices), None
            else:
                yield from leaves(spoken, name + element(spoken, indices), one, most)
    else:
        yield name, value


def _elements(value: Any, dimensions: int, most: int) -> Iterator[tuple[list[int], Any]]:
    kind = value.type.strip_typedefs()
    low, high = kind.range()
    if is_open(kind):
        yield [low, *(first for first, _ in ranges(kind)[0][1:dimensions])], None
        return
    for index in range(low, min(high, low + most - 1) + 1):
        if dimensions == 1:
            yield [index], value[index]
            continue
        for inner, one in _elements(value[index], dimensions - 1, most):
            yield [index, *inner], one
    if high >= low + most:
        yield [low + most, *(first for first, _ in ranges(value.type)[0][1:dimensions])], None


def is_container(value: Any) -> bool:
    return _children(value) is not None


def _children(value: Any) -> Iterator[tuple[str, Any]] | None:
    """The children of a container with a pretty printer; None: it has none."""
    printer = gdb.default_visualizer(value)
    if printer is None or not hasattr(printer, "children"):
        return None
    hint = printer.display_hint() if hasattr(printer, "display_hint") else None
    return _named(printer.children(), hint)


def _named(children: Any, hint: str | None) -> Iterator[tuple[str, Any]]:
    key: Any = None
    for number, (name, child) in enumerate(children):
        if hint == "map":
            if number == 2 * _CHILDREN:
                yield f"[{_text(child)}]", None
                return
            if number % 2:
                yield f"[{_text(key)}]", _value(child)
            key = child
        else:
            shown = name if name.startswith("[") else f".{name}"
            if number == _CHILDREN:
                yield shown, None
                return
            yield shown, _value(child)


def _value(child: Any) -> Any:
    return child if isinstance(child, gdb.Value) else gdb.Value(child)


def _text(value: Any) -> str:
    return str(value.format_string()) if isinstance(value, gdb.Value) else str(value)
