"""Static members of C++ classes, as the program's own lookup of names finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gdb

from . import symbols


class Ambiguous(gdb.error):
    """A name that may mean members of several classes."""


def of_this(name: str, block: Any) -> Any:
    """The static member NAME of the class, or a base class, whose member function BLOCK is in.

    It has a value where `this` has none.  None: there is no such member.
    """
    this = symbols.find("this", block)[0]
    for owner in () if this is None else _classes(this.type.strip_typedefs().target()):
        found = [field for field in owner.fields() if field.name == name]
        if found:
            full = f"{owner.name}::{name}"
            static = not hasattr(found[0], "bitpos")
            return static and (gdb.lookup_global_symbol(full) or gdb.lookup_static_symbol(full))
    return None


def _classes(kind: Any) -> Iterator[Any]:
    kind = kind.unqualified().strip_typedefs()
    yield kind
    for field in kind.fields():
        if field.is_base_class:
            yield from _classes(field.type)


def need_one(name: str, symbol: Any, function: Any) -> None:
    """Raises Ambiguous if CLASS::MEMBER came from a `using` where several classes have the name.

    GDB takes the first, but a program cannot write that.
    """
    full = str(symbol.name)
    scope = full.removesuffix(f"::{name}")
    around = re.sub(r"<[^<>]*>|\(.*", "", str(function.print_name))
    if scope == full or f"{around}::".startswith(f"{scope}::"):
        return
    said = gdb.execute(f"info variables -q -n ::{re.escape(name)}$", to_string=True)
    found = sorted(set(re.findall(rf"(\S+::{re.escape(name)});", said)))
    if len(found) > 1:
        raise Ambiguous(f"{name} may be {' or '.join(found)}: write one of them.")
