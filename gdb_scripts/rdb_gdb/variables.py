"""What the names in an expression mean in a frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gdb

from . import absent, dlang, elements, symbols
from .lookups import (
    FUNCTIONS,
    NoneOfOwn,
    Unbound,
    block_of,
    constant_of_library,
    is_own,
    key_of,
    library_of,
    lookup,
    seen,
    short,
    value_key,
)
from .own_frames import own_file, own_symtab
from .words import names, replaced


@dataclass(frozen=True)
class Variable:
    """A name of the expression, and the variable that it means."""

    name: str
    symbol: Any  # None: GDB's Python does not know it, GDB does
    key: tuple[Any, ...]
    needs_frame: bool
    of_module: bool = False  # which the frame does not see

    @property
    def in_gdbs(self) -> str:
        """What GDB takes for a module's."""
        name = str(self.symbol.name)
        return dlang.in_gdbs(self.symbol) if name.startswith("_D") else name

    @property
    def in_frame(self) -> str:
        """What GDB calls it in its function: FUNCTION::NAME finds no local of a block there."""
        local = self.symbol is not None and (
            self.needs_frame or self.symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT
        )
        return self.name.rpartition("::")[2] if local else self.name

    @property
    def where(self) -> str:
        symtab = None if self.symbol is None else self.symbol.symtab
        return f", {short(symtab.filename)}:{self.symbol.line}" if symtab else ""


BOUND = re.compile(r"\$_rdb_bound\(\d+\)")


class _Bound(gdb.Function):
    """$_rdb_bound(N): the variable number N of the expression that is being evaluated."""

    def __init__(self) -> None:
        super().__init__("_rdb_bound")

    def invoke(self, index: Any) -> Any:
        return _bound[int(index)].symbol.value()


_bound: list[Variable] = []


def stand_in(variables: list[Variable]) -> None:
    """$_rdb_bound(N) means these from now on."""
    global _bound
    _bound = variables


def placed(text: str, variables: list[Variable]) -> str:
    known = {one.name: f"$_rdb_bound({number})" for number, one in enumerate(variables)}
    return replaced(text, _of_targets(text, known, variables))


def in_frame(text: str, variables: list[Variable]) -> str:
    known = {one.name: one.in_frame for one in variables}
    return replaced(text, _of_targets(text, known, variables))


def _of_targets(text: str, known: dict[str, str], variables: list[Variable]) -> dict[str, str]:
    scalars = [one for one in variables if one.symbol and absent.is_scalar(one.symbol.type)]
    if scalars and absent.targets(text):
        known.update({one.name: f"(*{known[one.name]})" for one in scalars})
    return known


def without_placeholders(text: str, variables: list[Variable]) -> str:
    for number, one in enumerate(variables):
        text = text.replace(f"(*$_rdb_bound({number}))", one.name)
        text = text.replace(f"$_rdb_bound({number})", one.name)
    return text


def variables_of(
    expression: str, frame: Any, of_library: bool = False, locals_too: bool = False
) -> tuple[list[Variable], list[str]]:
    """What the names mean in this frame: variables, and members of `this`.  A library's are meant
    if it is OF_LIBRARY, and its locals with LOCALS_TOO."""
    variables: dict[str, Variable] = {}
    members: list[str] = []
    block, function = block_of(frame), frame.function()
    for _, end, name in names(expression):
        if name in variables or name in members:
            continue
        called = expression[end:].lstrip().startswith("(")
        found = _meaning(name, block, function, of_library or (called and _calls()), locals_too)
        if found is _MEMBER_OF_THIS:
            members.append(name)
        elif found is not None:
            variables[name] = found
    return list(variables.values()), members


def of_libraries(expression: str, block: Any) -> list[NoneOfOwn]:
    """The names that GDB takes for statics and globals of libraries in this block."""
    found = []
    inner = block
    while inner is not None and inner.function is None:
        inner = inner.superblock
    function = None if inner is None else inner.function
    for _, end, name in names(expression):
        try:
            called = expression[end:].lstrip().startswith("(")
            _meaning(name, block, function, called and _calls(), locals_too=True)
        except NoneOfOwn as stranger:
            found.append(stranger)
        except Unbound:
            continue  # GDB says so
    return found


def _calls() -> bool:
    """A function of a library can be called; in Fortran it looks like an array."""
    return elements.language("") != "fortran"


_MEMBER_OF_THIS = Variable("this", None, (), True)


def _meaning(
    name: str, block: Any, function: Any, anyones: bool, locals_too: bool
) -> Variable | None:
    """None: it is no variable."""
    symbol, member = lookup(name, block, function)
    if member:
        return _MEMBER_OF_THIS
    if symbol is None and (symbol := _of_module(name, function)) is not None:
        return Variable(name, symbol, key_of(symbol), False, of_module=True)
    if symbol is None:
        key = value_key(name)
        if key is None:
            if not anyones and (stranger := constant_of_library(name)):
                raise NoneOfOwn(name, library_of(stranger))
            return None  # a word of the language, a type; or nothing, as GDB will say
        if not (anyones or own_file(gdb.solib_name(key[0]))):
            raise NoneOfOwn(name, gdb.solib_name(key[0]))
        return None if key[1] in FUNCTIONS else Variable(name, None, key, isinstance(key[1], str))
    if symbol.addr_class in (gdb.SYMBOL_LOC_TYPEDEF, gdb.SYMBOL_LOC_LABEL):
        return None
    if not (anyones or is_own(symbol) or (locals_too and symbol.needs_frame)):
        raise NoneOfOwn(name, library_of(symbol))
    if symbol.addr_class == gdb.SYMBOL_LOC_BLOCK:
        return None
    return Variable(name, symbol, key_of(symbol), symbol.needs_frame)


def _of_module(name: str, function: Any) -> Any:
    """The variable of a module of the program's, which an inlined procedure, for one, does not see,
    or of the function's package.  None: of none, or of several."""
    language = elements.language("")
    if language == "go" and function is not None:
        package = function.name.rpartition(".")[0] or "main"
        return seen(f"{package}.{name}")
    if language == "d":
        return dlang.variable(name, function)
    if language != "fortran":
        return None
    found = []
    for module in re.findall(r"(?m)^\d+:\s+(\w+)$", gdb.execute("info modules -q", to_string=True)):
        symbol = symbols.find(f"{module}::{name}".lower())[0]
        if symbol is not None and symbol.symtab is not None and own_symtab(symbol.symtab):
            found.append(symbol)
    return found[0] if len(found) == 1 else None


def this_of(frame: Any) -> tuple[int, str] | None:
    """The object whose member function runs in this frame, and its class."""
    try:
        this = frame.read_var("this")
        return int(this), str(this.type.strip_typedefs().target().unqualified())
    except (gdb.error, ValueError, RuntimeError):
        return None


def constructs(frame: Any) -> bool:
    """Is it a constructor's?"""
    words = re.sub(r"<[^<>]*>|\(.*", "", str(frame.function().name)).split("::")
    return len(words) > 1 and words[-1] == words[-2]


def object_called(this: tuple[int, str]) -> str:
    return f"the {this[1]} at {this[0]:#x}"


def described(
    variables: list[Variable], members: list[str], function: str, of_object: str | None
) -> str:
    """`s in nanp, nan.f90:5`"""
    said = [
        f"{one.name}{f' in {function}' if one.needs_frame else ''}{one.where}" for one in variables
    ]
    if of_object is not None:
        said.append(f"{', '.join(members)} of {of_object}")
    return "; ".join(said)


def called(function: Any) -> str:
    """A function's name as the program has it."""
    return dlang.demangled(str(function.print_name))


@contextmanager
def selected(frame: Any, language: str | None = None) -> Iterator[None]:
    """The frame, and the language that the expression is written in, if not the frame's."""
    before, own = gdb.selected_frame(), gdb.parameter("language")
    # The frame first: with `set language auto` selecting one changes the language.
    frame.select()
    if language is not None:
        gdb.execute(f"set language {language}", to_string=True)
    try:
        yield
    finally:
        if language is not None:
            gdb.execute(f"set language {own}", to_string=True)
        before.select()


def define() -> None:
    _Bound()
