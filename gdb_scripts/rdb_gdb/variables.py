"""What the names in an expression mean in a frame."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gdb

from . import cpython, dlang, elements, predicates, pynames
from .own_frames import own_file, own_symtab

_TEXTS_AND_NUMBERS = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])\.?\d[\w.]*"
_NO_NAMES = re.compile(_TEXTS_AND_NUMBERS)
_NO_NAMES_OF_FORTRAN = re.compile(rf"{_TEXTS_AND_NUMBERS}|\.[A-Za-z]+\.")
_NAME = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_NAME_OF_GO = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)?")  # package.variable
_NAME_OF_D = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*")  # module.variable.member
_MEMBER = re.compile(r"(?:\.|->|%|\$|@|::)\s*\Z")
FUNCTIONS = (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD)


class Undefined(gdb.GdbError):
    """The expression has no value here."""


class Unbound(Undefined):
    """It means nothing in this frame; of NAME the program has none."""

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text)
        self.name = name


class NoneOfOwn(Unbound):
    """A library has one, which is not meant."""

    def __init__(self, name: str, library: str | None) -> None:
        self.library = short(library or "a library")
        super().__init__(
            f'No symbol "{name}" in the program\'s own code: {self.library} has one', name
        )


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
    def where(self) -> str:
        symtab = None if self.symbol is None else self.symbol.symtab
        return f", {short(symtab.filename)}:{self.symbol.line}" if symtab else ""


def short(path: str) -> str:
    return path.rsplit("/", 1)[-1]


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
    return found[0] if _symbol(found[0]) else found[1]


def _symbol(name: str) -> Any:
    try:
        return gdb.lookup_symbol(name)[0]
    except gdb.error:
        return gdb.lookup_global_symbol(name)


def placed(text: str, variables: list[Variable]) -> str:
    known = {one.name: f"$_rdb_bound({number})" for number, one in enumerate(variables)}
    return replaced(text, known)


def replaced(text: str, known: Mapping[str, str]) -> str:
    """With other words for the names that are KNOWN."""
    result, end = "", 0
    for start, stop, name in names(text):
        if name in known:
            result += text[end:start] + known[name]
            end = stop
    return result + text[end:]


def without_placeholders(text: str, variables: list[Variable]) -> str:
    for number, one in enumerate(variables):
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
            if not anyones and (stranger := _constant_of_library(name)):
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


def block_of(frame: Any) -> Any:
    try:
        return frame.block()
    except RuntimeError:
        return None  # no debug information


def looked_up(name: str, frame: Any) -> Any:
    return lookup(name, block_of(frame), frame.function())[0]


def lookup(name: str, block: Any, function: Any) -> tuple[Any, bool]:
    """The symbol, or whether it is a member of `this`.  FUNCTION::VARIABLE is in that function's
    frame alone."""
    if block is None or ("." in name and elements.language("") == "d"):
        return None, False  # GDB 13 may end at a module's name (d_lookup_nested_symbol)
    other, _, variable = name.rpartition("::")
    if other and _is_function(other):
        if function is None or not _called_so(function, other):
            raise Unbound(f"{other} is not running")
        name = variable
    try:
        found: tuple[Any, bool] = gdb.lookup_symbol(name, block)
        return found
    except gdb.error:
        return None, False


def _is_function(name: str) -> bool:
    try:
        return bool(gdb.parse_and_eval(name).type.code in FUNCTIONS)
    except gdb.error:
        return False


def _called_so(function: Any, name: str) -> bool:
    called = re.sub(r"\(.*", "", str(function.print_name))
    return called == name or called.endswith(f"::{name}")


def _of_module(name: str, function: Any) -> Any:
    """The variable of a module of the program's, which an inlined procedure, for one, does not see,
    or of the function's package.  None: of none, or of several."""
    language = elements.language("")
    if language == "go" and function is not None:
        package = function.name.rpartition(".")[0] or "main"
        return _symbol(f"{package}.{name}")
    if language == "d":
        return dlang.variable(name, function)
    if language != "fortran":
        return None
    found = []
    for module in re.findall(r"(?m)^\d+:\s+(\w+)$", gdb.execute("info modules -q", to_string=True)):
        symbol = gdb.lookup_symbol(f"{module}::{name}".lower())[0]
        if symbol is not None and symbol.symtab is not None and own_symtab(symbol.symtab):
            found.append(symbol)
    return found[0] if len(found) == 1 else None


def is_own(symbol: Any) -> bool:
    return symbol.symtab is None or own_symtab(symbol.symtab)


def library_of(symbol: Any) -> str:
    objfile = symbol.symtab.objfile
    return str((objfile.owner or objfile).filename)


def _constant_of_library(name: str) -> Any:
    """A symbol that is nowhere in memory, and no file of the program's has one."""
    constants = (gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_CONST_BYTES)
    found = [one for one in gdb.lookup_static_symbols(name) if one.addr_class in constants]
    return found[0] if found and not any(map(is_own, found)) else None


def value_key(name: str) -> tuple[int, Any] | None:
    """Of a name that GDB knows but its Python does not: its address and type, the code of its type
    for a function, None for what has no debug information.  None at all: it is no variable."""
    try:
        value = gdb.parse_and_eval(name)
        address = int(gdb.parse_and_eval(f"&{name}"))  # value.address may call the program's malloc
        function = value.type.code in FUNCTIONS
        return address, value.type.code if function else str(value.type)
    except gdb.error as error:
        if str(error).startswith("No symbol "):
            raise Unbound(str(error).rstrip("."), name) from None
        if "has unknown type" not in str(error):
            return None
    return int(gdb.parse_and_eval(f"&{name}")), None


def key_of(symbol: Any) -> tuple[Any, ...]:
    symtab = symbol.symtab
    return (symbol.name, symbol.line, symtab.fullname() if symtab else None, symbol.needs_frame)


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
