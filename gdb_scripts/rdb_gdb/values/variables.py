"""The meaning of the names in an expression in a frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import gdb

from . import absent, dlang, elements, homes, symbols
from .blocks import function_of
from .functions import PLACEHOLDER, function
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
from .synthetic import is_removed, this_copied
from .words import names, replaced


class Variable(NamedTuple):
    """A name of the expression, and the variable that it means."""

    name: str
    symbol: Any  # None: GDB knows the name, but its Python does not
    key: tuple[Any, ...]
    needs_frame: bool
    of_module: bool = False  # a module's variable that the frame does not see
    static_member: bool = False  # of the class of `this`, which may have no value
    kept: Any = None  # what leads to it where its function does not run
    by_kept: str = ""  # the placeholder for that

    @property
    def in_gdbs(self) -> str:
        """The name that GDB takes for a module's variable."""
        name = str(self.symbol.name)
        if "." in name:  # of a submodule, whose name GDB cannot parse
            at = self.symbol.value().address
            held = f"_rdb_module_{int(at):x}_{name.rpartition('::')[2]}"
            gdb.set_convenience_variable(held, at)
            return f"(*${held})"
        return dlang.in_gdbs(self.symbol) if name.startswith("_D") else name

    @property
    def in_frame(self) -> str:
        """The name for GDB in its function: FUNCTION::NAME does not find locals of blocks."""
        local = self.symbol is not None and (
            self.needs_frame or self.symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT
        )
        if self.static_member:
            return str(self.symbol.name)
        return self.name.rpartition("::")[2] if local else self.name

    @property
    def by_place(self) -> str:
        """The placeholder for it where it is not visible.

        A pointer, unlike a function, has a type also after a `||` that GDB need not evaluate.
        """
        if self.by_kept:
            return self.by_kept
        if self.symbol is None or self.symbol.addr_class != gdb.SYMBOL_LOC_STATIC:
            return "$_rdb_bound({})"
        kind = self.symbol.type.strip_typedefs()
        has_address = not kind.dynamic or kind.code == gdb.TYPE_CODE_STRUCT
        pointer = has_address and elements.language("") in _WITH_POINTERS
        return "(*$_rdb_at_{})" if pointer else "$_rdb_bound({})"

    @property
    def where(self) -> str:
        symtab = None if self.symbol is None else self.symbol.symtab
        return f", {short(symtab.filename)}:{self.symbol.line}" if symtab else ""


BOUND = re.compile(PLACEHOLDER)
_WITH_POINTERS = ("c", "c++", "fortran")


@function("_rdb_bound")
def _bound_variable(index: Any) -> Any:
    """$_rdb_bound(N): the variable number N of the expression that is being evaluated."""
    return _bound[int(index)].symbol.value()


_bound: list[Variable] = []


def stand_in(variables: list[Variable]) -> None:
    """Makes $_rdb_bound(N) and $_rdb_at_N mean these variables."""
    global _bound
    _bound = variables
    for number, one in enumerate(variables):
        if one.by_place[0] == "(":
            at = one.kept if one.by_kept else one.symbol.value().address
            gdb.set_convenience_variable(f"_rdb_at_{number}", at)


def placed(text: str, variables: list[Variable]) -> str:
    known = {one.name: one.by_place.format(number) for number, one in enumerate(variables)}
    return replaced(text, _of_targets(text, known, variables))


def in_frame(text: str, variables: list[Variable]) -> str:
    known = {one.name: one.in_frame for one in variables}
    return replaced(text, _of_targets(text, known, variables))


def _of_targets(text: str, known: dict[str, str], variables: list[Variable]) -> dict[str, str]:
    scalars = [one for one in variables if one.symbol and absent.is_scalar(one.symbol.type)]
    if scalars and absent.targets(text):
        known.update({one.name: f"(*{known[one.name]})" for one in scalars})
    return known


def unqualified(text: str, members: list[str]) -> str:
    """TEXT with the members of `this` as GDB knows them: without their function."""
    known = {one: one.rpartition("::")[2] for one in members if "::" in one}
    return replaced(text, known) if known else text


def without_placeholders(text: str, variables: list[Variable]) -> str:
    for number, one in reversed(list(enumerate(variables))):
        at = f"$_rdb_at_{number}"
        for called in (
            f"({at})->{one.name}",
            f"$_rdb_bound({number})",
            f"(*{at})",
            f"*{at}",
            f"({at})",
        ):
            text = text.replace(f"(*{called})", one.name).replace(called, one.name)
    return text


def variables_of(
    expression: str, frame: Any, of_library: bool = False, locals_too: bool = False
) -> tuple[list[Variable], list[str]]:
    """The variables, and the members of `this`, that the names mean in this frame.

    OF_LIBRARY: variables of libraries are meant, too; LOCALS_TOO: locals of a library's function.
    Raises Unbound.
    """
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
    """The names that mean statics and globals of libraries to GDB in this block."""
    found = []
    function = function_of(block)
    for _, end, name in names(expression):
        try:
            called = expression[end:].lstrip().startswith("(")
            _meaning(name, block, function, called and _calls(), locals_too=True)
        except NoneOfOwn as stranger:
            found.append(stranger)
        except Unbound:
            continue  # GDB reports that
    return found


def _calls() -> bool:
    """May a function of a library be called?  In Fortran a call looks like an array."""
    return elements.language("") != "fortran"


_NAMED_TYPES = (
    *(gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ENUM),
    *(gdb.TYPE_CODE_TYPEDEF, gdb.TYPE_CODE_PTR),
)
_MEMBER_OF_THIS = Variable("this", None, (), True)


def _meaning(
    name: str, block: Any, function: Any, anyones: bool, locals_too: bool
) -> Variable | None:
    """The variable that a name means; None: it is no variable.  Raises Unbound."""
    symbol, member = lookup(name, block, function)
    if member:
        return _MEMBER_OF_THIS
    is_type = symbol is not None and symbol.addr_class == gdb.SYMBOL_LOC_TYPEDEF
    if is_type and symbol.type.code in _NAMED_TYPES and elements.language("") == "fortran":
        symbol = None  # GDB looks for types first, of C, too
    if symbol is None or not is_own(symbol):
        of_module = _of_module(name, function)
        if of_module is not None:
            return Variable(name, of_module, key_of(of_module), False, of_module=True)
    if symbol is None or not is_own(symbol):
        if homes.is_of_this(name, block):
            return _MEMBER_OF_THIS
        if of := homes.class_with(name, block):  # GDB would take `this` for such an object
            raise Unbound(f"No object of {of} runs here", name)
    if symbol is None:
        key = value_key(name)
        if key is None:
            if not anyones and (stranger := constant_of_library(name)):
                raise NoneOfOwn(name, library_of(stranger))
            return None  # a word of the language, a type, or an error that GDB reports
        if not (anyones or own_file(gdb.solib_name(key[0]))):
            raise NoneOfOwn(name, gdb.solib_name(key[0]))
        return None if key[1] in FUNCTIONS else Variable(name, None, key, isinstance(key[1], str))
    if symbol.addr_class in (gdb.SYMBOL_LOC_TYPEDEF, gdb.SYMBOL_LOC_LABEL):
        return None
    if not (anyones or is_own(symbol) or (locals_too and symbol.needs_frame)):
        raise NoneOfOwn(name, library_of(symbol))
    if symbol.addr_class == gdb.SYMBOL_LOC_BLOCK:
        return None
    static = "::" not in name and symbols.find(name, block)[1]
    return Variable(name, symbol, key_of(symbol), symbol.needs_frame, static_member=static)


def _of_module(name: str, function: Any) -> Any:
    """The variable of a module or package of the program; None: there is none, or several.

    An inlined procedure, for example, does not see its module's variables.
    """
    language = elements.language("")
    if language == "go" and function is not None:
        package = function.name.rpartition(".")[0] or "main"
        return seen(f"{package}.{name}")
    if language == "d":
        return dlang.variable(name, function)
    if language != "fortran":
        return None
    found = []
    of, _, variable = name.lower().rpartition("::")
    listed = str(gdb.execute("info modules -q", to_string=True))
    for module in re.findall(r"(?m)^\d+:\s+([\w.]+)$", listed):
        if of and module.rpartition(".")[2] != of:  # a submodule is MODULE.NAME
            continue
        symbol = symbols.find(f"{module}::{variable}")[0]
        if symbol is None or symbol.addr_class == gdb.SYMBOL_LOC_TYPEDEF:
            continue  # GDB finds types from 15 on
        if symbol.symtab is not None and own_symtab(symbol.symtab):
            found.append(symbol)
    return found[0] if len(found) == 1 else None


def _this(frame: Any) -> tuple[Any, str] | None:
    """`this` and its class, if a member function runs in this frame."""
    try:
        copied = this_copied(frame)
        this = frame.read_var("this") if copied is None else copied
        of = this.type.strip_typedefs().target().unqualified()
        return this, of.name or ""  # its text depends on the language of the selected frame
    except (gdb.error, ValueError, RuntimeError):
        return None


def this_of(frame: Any) -> tuple[int, str] | None:
    """Address and class of the object whose member function runs in this frame; None: none, or the
    address is optimized out."""
    found = _this(frame)
    try:
        return None if found is None or is_removed(found[0]) else (int(found[0]), found[1])
    except gdb.error:
        return None


def loses_this(frame: Any, of: str) -> bool:
    """Does a member function of that class run in this frame, whose object's address is optimized
    out?"""
    found = _this(frame)
    lost = found is not None and (found[0].is_optimized_out or is_removed(found[0]))
    return lost and found is not None and found[1] == of


def constructs(frame: Any) -> bool:
    """Is it the frame of a constructor?"""
    words = re.sub(r"<[^<>]*>|\(.*", "", str(frame.function().name)).split("::")
    return len(words) > 1 and words[-1] == words[-2]


def object_called(this: tuple[int, str]) -> str:
    return f"the {this[1]} at {this[0]:#x}"


def described(
    variables: list[Variable], members: list[str], function: str, of_object: str | None
) -> str:
    """The variables as text: `s in nanp, nan.f90:5`."""
    said = [
        f"{one.name}{f' in {function}' if one.needs_frame and function else ''}{one.where}"
        for one in variables
        if one.symbol is None or one.symbol.line or not one.symbol.is_constant  # an enumerator
    ]
    if of_object is not None:
        said.append(f"{', '.join(members)} of {of_object}")
    return "; ".join(said)


def called(function: Any) -> str:
    """A function's name as in the source."""
    return dlang.demangled(str(function.print_name))


@contextmanager
def selected(frame: Any, language: str | None = None) -> Iterator[None]:
    """Context in which a frame is selected, and LANGUAGE set, if it is not the frame's."""
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
