"""Which variables an expression means: bound once, evaluated anywhere.

The names in an expression are looked up in the innermost frame of the program's own code in which
they all mean something, or in the frame that the user has selected.  From then on they mean those
variables, whatever another function or a library calls the same:

- of statics, globals and module variables the place is fixed, so no frame is needed;
- a local has a value while its function runs (of a recursive one the innermost call);
- a member of a C++ object has one while a member function of that object runs.

Elsewhere the expression is undefined, and `Undefined` says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gdb

from . import predicates
from .own_frames import frames, in_own_file, own_file, own_frames, own_symtab

# Texts, operators such as .and., and numbers hold no names.
_NO_NAMES = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\.[A-Za-z]+\.|(?<![\w.])\.?\d[\w.]*"
)
_NAME = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_MEMBER = re.compile(r"(?:\.|->|%|\$|@|::)\s*\Z")
_TERM_OF_C = r"(?:\s*(?:\.|->)\s*\w+|\[[^\[\]]*\])*(?!\s*\()"
_TERM_OF_FORTRAN = r"(?:\s*%\s*\w+|\([^()]*\))*"
_FUNCTIONS = (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD)


class Undefined(gdb.GdbError):
    """The expression has no value here."""


class Unbound(Undefined):
    """It means nothing in this frame; of NAME the program has none."""

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text)
        self.name = name


@dataclass(frozen=True)
class Variable:
    """A name of the expression, and the variable that it means."""

    name: str
    symbol: Any  # None: GDB's Python does not know it, GDB does
    key: tuple[Any, ...]
    needs_frame: bool
    of_module: bool = False  # which the frame does not see

    @property
    def where(self) -> str:
        symtab = None if self.symbol is None else self.symbol.symtab
        return f", {short(symtab.filename)}:{self.symbol.line}" if symtab else ""


class Binding:
    """An expression in a frame, which is the program's own unless OF_LIBRARY."""

    def __init__(self, expression: str, frame: Any, of_library: bool = False) -> None:
        self.expression = expression
        self._language = frame.language()
        self._this: tuple[int, str] | None = None
        self._function: tuple[Any, ...] | None = None
        self._by_place = False
        with self._selected(frame):
            self._variables, self._members = _variables(expression, frame, of_library)
            if self._members:
                self._this = _this(frame)
            if any(one.needs_frame for one in self._variables):
                self._in(frame)
            if self._function is None and self._this is None:
                self._by_place = self._same_by_place()
                if not self._by_place and frame.function() is not None:
                    self._in(frame)

    def _in(self, frame: Any) -> None:
        """It has a value while this function runs."""
        self._function = _key(frame.function())
        self._function_name = str(frame.function().print_name)

    @property
    def described(self) -> str:
        """`s in nanp, nan.f90:5`; empty where the expression names no variable."""
        said = [
            f"{one.name}{f' in {self._function_name}' if one.needs_frame else ''}{one.where}"
            for one in self._variables
        ]
        if self._this is not None:
            said.append(f"{', '.join(self._members)} of {self._object}")
        return "; ".join(said)

    def value(self) -> Any:
        """The value where the rank stands, or Undefined."""
        with self._context():
            try:
                value = predicates.value(self._text(self.expression))
                if not value.is_optimized_out:
                    value.fetch_lazy()
                    return value
            except gdb.error as error:
                raise Undefined(_without_placeholders(str(error), self._variables)) from None
        names = ", ".join([one.name for one in self._variables] + self._members)
        raise Undefined(f"{names or self.expression} is optimized out")

    def decided(self) -> list[str]:
        """The elements of arrays that decided the last value, by the program's names."""
        return [_without_placeholders(one, self._variables) for one in predicates.decided()]

    def need_meaning(self, frame: Any) -> None:
        """Unbound, if GDB cannot make sense of the expression in this frame."""
        global _bound
        with self._selected(frame):
            _bound = self._variables
            try:
                predicates.value(self._text(self.expression))
            except gdb.MemoryError:
                return
            except gdb.error as error:
                if "syntax error" in str(error):
                    raise gdb.GdbError(str(error)) from None
                if "optimized out" not in str(error):
                    raise Unbound(str(error).rstrip(".")) from None

    def operands(self) -> list[tuple[int, int]]:
        """(address, length) of what the expression reads and has an address here."""
        rest = _TERM_OF_FORTRAN if self._language == "fortran" else _TERM_OF_C
        names = [*(one.name for one in self._variables), *self._members]
        plain = _NO_NAMES.sub(lambda found: " " * len(found[0]), self.expression)
        found: dict[tuple[int, int], None] = {}
        with self._context():
            for start, _, name in _names(self.expression):
                term = re.compile(re.escape(name) + rest).match(plain, start)
                if name not in names or term is None:
                    continue
                try:
                    value = gdb.parse_and_eval(self._text(self.expression[start : term.end()]))
                    if value.address is not None and value.type.sizeof:
                        found[int(value.address), value.type.sizeof] = None
                except gdb.error:
                    continue  # this operand has no value here
        return list(found)

    @property
    def _object(self) -> str:
        assert self._this is not None
        return f"the {self._this[1]} at {self._this[0]:#x}"

    @contextmanager
    def _context(self) -> Iterator[None]:
        """The names mean the variables meanwhile; Undefined where they cannot."""
        global _bound
        frame = gdb.newest_frame()
        if self._function is not None or self._this is not None:
            frame = self._alive()
        elif not self._by_place:
            self._need_same(frame)
        with self._selected(frame):
            _bound = self._variables
            yield

    @contextmanager
    def _selected(self, frame: Any) -> Iterator[None]:
        """The frame, and the language that the expression is written in."""
        before, language = gdb.selected_frame(), gdb.parameter("language")
        # The frame first: with `set language auto` selecting one changes the language.
        frame.select()
        gdb.execute(f"set language {self._language}", to_string=True)
        try:
            yield
        finally:
            gdb.execute(f"set language {language}", to_string=True)
            before.select()

    def _text(self, text: str) -> str:
        """With each variable by its place instead of its name, if that does not change it."""
        return _placed(text, self._variables) if self._by_place else text

    def _same_by_place(self) -> bool:
        """sizeof, for one, is not the same: it knows no functions."""
        global _bound
        _bound = self._variables
        if any(one.symbol is None for one in self._variables):
            return False
        if any(one.of_module for one in self._variables):
            return True
        plain = _outcome(self.expression)
        placed = _outcome(_placed(self.expression, self._variables))
        return plain == _without_placeholders(placed, self._variables)

    def _alive(self) -> Any:
        """The frame in which the names mean these variables."""
        for frame in frames():
            if frame.function() is None or not (self._method(frame) and self._called(frame)):
                continue
            self._need_same(frame)
            return frame
        if self._this is not None:
            raise Undefined(f"no member function of {self._object} runs")
        raise Undefined(f"{self._function_name} is not running")

    def _method(self, frame: Any) -> bool:
        return self._this is None or _this(frame) == self._this

    def _called(self, frame: Any) -> bool:
        return self._function is None or _key(frame.function()) == self._function

    def _need_same(self, frame: Any) -> None:
        """Do the names mean the same variables in this frame, at this pc?"""
        with self._selected(frame):
            for one in self._variables:
                symbol = _lookup(one.name, frame)[0]
                if one.of_module:
                    continue
                if one.symbol is None:
                    key = _value_key(one.name)
                    if key is None or key[1] != one.key[1] or not (key[1] or key == one.key):
                        raise Undefined(f"{one.name} is something else there")
                elif symbol is None:
                    raise Undefined(f"{one.name} is out of scope")
                elif _key(symbol) != one.key:
                    other = Variable(one.name, symbol, (), False).where
                    raise Undefined(f"{one.name} is another variable there{other}")


def bind(expression: str) -> Binding | None:
    """In the selected frame, if the user has selected a library's, else in the innermost one of
    the program's own code in which all names mean something; None: no such code runs here.
    Unbound: the names mean nothing in it."""
    selected = gdb.selected_frame()
    if selected.level() and not in_own_file(selected):
        return Binding(expression, selected, of_library=True)
    why: list[Unbound] = []
    for frame in own_frames():
        if frame.level() < selected.level():
            continue
        where = (expression, *_scope(frame))
        try:
            if where in _unbound:
                raise _unbound[where]
            binding = Binding(expression, frame)
            binding.need_meaning(frame)
            return binding
        except Unbound as unbound:
            _unbound[where] = unbound
            why.append(unbound)
    if why:
        # That a name is unknown says less than why it cannot be used where it is known.
        raise next((one for one in why if one.name is None), why[0])
    return None


# Scopes in which an expression means nothing: to look for a name that is not there takes long.
_unbound: dict[tuple[Any, ...], Unbound] = {}


def _scope(frame: Any) -> tuple[Any, ...]:
    try:
        block = frame.block()
    except RuntimeError:
        return (None, frame.pc())
    return (gdb.current_progspace().filename, block.start, block.end)


def truth(value: Any) -> bool:
    """Is it other than 0?  Asked as a number, since each language has its own words."""
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return truth(value.referenced_value())
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, *_MANY):
        raise gdb.GdbError(f"A value of type {value.type} is neither true nor false.")
    return bool(value)


_MANY = (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRING, *_FUNCTIONS)


def short(path: str) -> str:
    return path.rsplit("/", 1)[-1]


class _Bound(gdb.Function):
    """$_rdb_bound(N): the variable number N of the expression that is being evaluated."""

    def __init__(self) -> None:
        super().__init__("_rdb_bound")

    def invoke(self, index: Any) -> Any:
        return _bound[int(index)].symbol.value()


_bound: list[Variable] = []


def _names(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, name) of each name that is no member's, register's or other variable's."""
    plain = _NO_NAMES.sub(lambda found: " " * len(found[0]), text)
    functions = predicates.words(text)
    for found in _NAME.finditer(plain):
        before = plain[: found.start()]
        if found.start() in functions:
            continue
        if not _MEMBER.search(before) and not re.search(r"\w\Z", before):
            yield found.start(), found.end(), found[0]


def _placed(text: str, variables: list[Variable]) -> str:
    names = [one.name for one in variables]
    result, end = "", 0
    for start, stop, name in _names(text):
        if name in names:
            result += f"{text[end:start]}$_rdb_bound({names.index(name)})"
            end = stop
    return result + text[end:]


def _without_placeholders(text: str, variables: list[Variable]) -> str:
    for number, one in enumerate(variables):
        text = text.replace(f"$_rdb_bound({number})", one.name)
    return text


def _variables(expression: str, frame: Any, of_library: bool) -> tuple[list[Variable], list[str]]:
    """What the names mean in this frame: variables, and members of `this`."""
    variables: dict[str, Variable] = {}
    members: list[str] = []
    fortran = gdb.parameter("language") == "fortran"
    for _, end, name in _names(expression):
        if name in variables or name in members:
            continue
        symbol, member = _lookup(name, frame)
        # A function of a library can be called, in Fortran it looks like an array.
        anyones = of_library or (not fortran and expression[end:].lstrip().startswith("("))
        if member:
            members.append(name)
        elif symbol is None and (symbol := _of_module(name)) is not None:
            variables[name] = Variable(name, symbol, _key(symbol), False, of_module=True)
        elif symbol is None:
            key = _value_key(name)
            if key is None:
                continue  # a word of the language, a type; or nothing, as GDB will say
            if not (anyones or own_file(gdb.solib_name(key[0]))):
                raise _none_of_own(name)
            if key[1] not in _FUNCTIONS:
                variables[name] = Variable(name, None, key, isinstance(key[1], str))
        elif symbol.addr_class not in (gdb.SYMBOL_LOC_TYPEDEF, gdb.SYMBOL_LOC_LABEL):
            if not (anyones or symbol.symtab is None or own_symtab(symbol.symtab)):
                raise _none_of_own(name)
            if symbol.addr_class != gdb.SYMBOL_LOC_BLOCK:
                variables[name] = Variable(name, symbol, _key(symbol), symbol.needs_frame)
    return list(variables.values()), members


def _lookup(name: str, frame: Any) -> tuple[Any, bool]:
    """The symbol, or whether it is a member of `this`.  FUNCTION::VARIABLE is in that function's
    frame alone."""
    try:
        block = frame.block()
    except RuntimeError:
        return None, False  # no debug information
    function, _, variable = name.rpartition("::")
    if function and _is_function(function):
        if frame.function() is None or not _called_so(frame.function(), function):
            raise Unbound(f"{function} is not running")
        name = variable
    try:
        found: tuple[Any, bool] = gdb.lookup_symbol(name, block)
        return found
    except gdb.error:
        return None, False


def _is_function(name: str) -> bool:
    try:
        return bool(gdb.parse_and_eval(name).type.code in _FUNCTIONS)
    except gdb.error:
        return False


def _called_so(function: Any, name: str) -> bool:
    called = re.sub(r"\(.*", "", str(function.print_name))
    return called == name or called.endswith(f"::{name}")


def _of_module(name: str) -> Any:
    """The variable of a module of the program's, which an inlined procedure, for one, does not see.
    None: of none, or of several."""
    if gdb.parameter("language") != "fortran":
        return None
    found = []
    for module in re.findall(r"(?m)^\d+:\s+(\w+)$", gdb.execute("info modules -q", to_string=True)):
        symbol = gdb.lookup_symbol(f"{module}::{name}".lower())[0]
        if symbol is not None and symbol.symtab is not None and own_symtab(symbol.symtab):
            found.append(symbol)
    return found[0] if len(found) == 1 else None


def _none_of_own(name: str) -> Unbound:
    return Unbound(f'No symbol "{name}" in the program\'s own code', name)


def _value_key(name: str) -> tuple[int, Any] | None:
    """Of a name that GDB knows but its Python does not: its address and type, the code of its type
    for a function, None for what has no debug information.  None at all: it is no variable."""
    try:
        value = gdb.parse_and_eval(name)
        if value.address is None:
            return None
        function = value.type.code in _FUNCTIONS
        return int(value.address), value.type.code if function else str(value.type)
    except gdb.error as error:
        if str(error).startswith("No symbol "):
            raise Unbound(str(error).rstrip("."), name) from None
        if "has unknown type" not in str(error):
            return None
    return int(gdb.parse_and_eval(f"&{name}")), None


def _outcome(text: str) -> str:
    try:
        value = predicates.value(text)
        return f"{value.type}: {value}"
    except gdb.error as error:
        return str(error)


def _key(symbol: Any) -> tuple[Any, ...]:
    symtab = symbol.symtab
    return (symbol.name, symbol.line, symtab.fullname() if symtab else None, symbol.needs_frame)


def _this(frame: Any) -> tuple[int, str] | None:
    """The object whose member function runs in this frame, and its class."""
    try:
        this = frame.read_var("this")
        return int(this), str(this.type.strip_typedefs().target().unqualified())
    except (gdb.error, ValueError, RuntimeError):
        return None


def define() -> None:
    _Bound()
