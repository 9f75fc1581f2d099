"""Variables of D's modules and static members: GDB 13 lists them by their mangled names, but cannot
look them up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gdb

from . import symbols
from .functions import function

_VARIABLE = re.compile(r"^\d+:\s.*?(_D\w+);$", re.MULTILINE)
_FILE = re.compile(r"^File (.+):$", re.MULTILINE)

_found: dict[tuple[Any, str], Any] = {}
_numbered: list[Any] = []


@function("_rdb_of_d")
def _numbered_variable(index: Any) -> Any:
    """$_rdb_of_d(N): the Nth variable that `in_gdbs` has named."""
    return _numbered[int(index)].value()


def in_gdbs(symbol: Any) -> str:
    """An expression that GDB accepts for the symbol."""
    if symbol not in _numbered:
        _numbered.append(symbol)
    return f"$_rdb_of_d({_numbered.index(symbol)})"


def variable(name: str, function: Any) -> Any:
    """The symbol of `module.variable` (in a function of the module also `variable`); None: none."""
    within = demangled(function.name).split(".")[:-1] if function is not None else []
    for length in range(len(within), -1, -1):
        found = _variable(".".join([*within[:length], name]), function)
        if found is not None:
            return found
    return None


def longest(dotted: str, function: Any) -> str:
    """The longest beginning of DOTTED that names a variable of a module; else the first word."""
    words = dotted.split(".")
    for length in range(len(words), 1, -1):
        if variable(".".join(words[:length]), function) is not None:
            return ".".join(words[:length])
    return words[0]


def demangled(name: str) -> str:
    """The demangled name without argument types."""
    if not name.startswith("_D"):
        return name
    # GDB does not demangle D by itself.
    return str(gdb.execute(f"demangle -l d -- {name}", to_string=True)).strip().partition("(")[0]


def _variable(name: str, function: Any) -> Any:
    key = (symbols.program(), name)
    if "." in name and key not in _found:
        _found[key] = _look(name, function)
    return _found.get(key)


def _look(name: str, function: Any) -> Any:
    mangled = "_D" + "".join(f"{len(word)}{word}" for word in name.split("."))
    listed = gdb.execute(f"info variables -q -n ^{mangled}", to_string=True)
    for file, rows in zip(*[iter(_FILE.split(listed)[1:])] * 2):
        for full in _VARIABLE.findall(rows):
            if demangled(full) == name:
                return next((one for one in _symbols(file, function) if one.name == full), None)
    return None


def _symbols(file: str, function: Any) -> Iterator[Any]:
    """The symbols of the function's compilation unit, and of the file."""
    symtabs = [function.symtab] if function is not None else []
    if file != "<artificial>":  # the unit of link-time optimisation
        symtabs += [one.symtab for one in gdb.decode_line(f"'{file}':1")[1] or ()]
    for symtab in symtabs:
        yield from symtab.global_block()
        yield from symtab.static_block()
