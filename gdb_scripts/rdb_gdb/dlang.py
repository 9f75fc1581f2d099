"""Variables of D's modules and static members: GDB 13 lists them by their mangled names, and finds
them by none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gdb

_VARIABLE = re.compile(r"^\d+:\s.*?(_D\w+);$", re.MULTILINE)
_FILE = re.compile(r"^File (.+):$", re.MULTILINE)

_found: dict[tuple[Any, str], Any] = {}
_numbered: list[Any] = []


class _Variable(gdb.Function):
    """$_rdb_of_d(N): the Nth variable that `in_gdbs` has named."""

    def __init__(self) -> None:
        super().__init__("_rdb_of_d")

    def invoke(self, index: Any) -> Any:
        return _numbered[int(index)].value()


def in_gdbs(symbol: Any) -> str:
    """What GDB takes for it, from now on."""
    if symbol not in _numbered:
        _numbered.append(symbol)
    return f"$_rdb_of_d({_numbered.index(symbol)})"


def variable(name: str, function: Any) -> Any:
    """`module.variable`, or without the module in a function of it.  None: there is none."""
    within = demangled(function.name).split(".")[:-1] if function is not None else []
    for length in range(len(within), -1, -1):
        found = _variable(".".join([*within[:length], name]), function)
        if found is not None:
            return found
    return None


def longest(dotted: str, function: Any) -> str:
    """The words at the beginning that name a variable of a module; else the first word."""
    words = dotted.split(".")
    for length in range(len(words), 1, -1):
        if variable(".".join(words[:length]), function) is not None:
            return ".".join(words[:length])
    return words[0]


def demangled(name: str) -> str:
    """Without the types of arguments."""
    if not name.startswith("_D"):
        return name
    # GDB does not demangle D by itself.
    return str(gdb.execute(f"demangle -l d -- {name}", to_string=True)).strip().partition("(")[0]


def _variable(name: str, function: Any) -> Any:
    key = (gdb.current_progspace().filename, name)
    if "." in name and key not in _found:
        _found[key] = _look(name, function)
    return _found.get(key)


def _look(name: str, function: Any) -> Any:
    mangled = "_D" + "".join(f"{len(word)}{word}" for word in name.split("."))
    listed = gdb.execute(f"info variables -q -n ^{mangled}", to_string=True)
    for file, rows in zip(*[iter(_FILE.split(listed)[1:])] * 2, strict=True):
        for full in _VARIABLE.findall(rows):
            if demangled(full) == name:
                return next((one for one in _symbols(file, function) if one.name == full), None)
    return None


def _symbols(file: str, function: Any) -> Iterator[Any]:
    """Those of the function's unit, and of the file's."""
    symtabs = [function.symtab] if function is not None else []
    if file != "<artificial>":  # made by link-time optimisation
        symtabs += [one.symtab for one in gdb.decode_line(f"'{file}':1")[1] or ()]
    for symtab in symtabs:
        yield from symtab.global_block()
        yield from symtab.static_block()


def define() -> None:
    _Variable()
