"""Bindings: the variables that an expression means, looked up once and evaluated at any position.

The names are looked up in the innermost frame of the program's own code in which they all mean
something, or in the frame that the user has selected.  From then on they mean these variables, even
if another function or a library has variables of the same names:

- statics, globals and module variables have a fixed address, so no frame is needed;
- a local has a value while its function runs (in a recursion that of the innermost call);
- a member of a C++ object has a value while a member function of that object runs.

Elsewhere the expression is undefined, and `Undefined` tells why.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import gdb

from . import (
    absent,
    alive,
    cpython,
    elements,
    inherited,
    intrinsics,
    kept,
    predicates,
    prologue,
    pynames,
    subscripts,
    symbols,
    synthetic,
    texts,
    wrapped,
)
from .lookups import (
    FUNCTIONS,
    Unbound,
    Undefined,
    Unsuited,
    block_of,
    is_own,
    key_of,
    looked_up,
    value_key,
)
from .nested import home_of
from .nowhere import instead, kept_nowhere
from .own_frames import frames, in_own_file, own_frames
from .quoting import Unreadable
from .variables import (
    BOUND,
    Variable,
    called,
    constructs,
    described,
    in_frame,
    loses_this,
    object_called,
    placed,
    selected,
    stand_in,
    this_of,
    unqualified,
    variables_of,
    without_placeholders,
)
from .words import names, names_of_python, without_texts

_TERM_OF_C = r"(?:\s*(?:\.|->)\s*\w+|\[[^\[\]]*\])*(?!\s*\()"
_TERM_OF_FORTRAN = r"(?:\s*%\s*\w+|\([^()]*\))*"


Values = Sequence[tuple[float, float]]
# rbx, rbp, rsp, r12 to r15, rip, fs_base, the thread (interface/agent.h: struct agent_gpr)
_KEPT = sum(1 << number for number in (1, 6, 7, 12, 13, 14, 15, 16, 24, 27))
# rbp, rsp, rip, fs_base, the thread: what the addresses of frames are computed from
_OF_FRAMES = sum(1 << number for number in (6, 7, 16, 24, 27))
_IN_ITS_FRAME = re.compile(
    r" is a (variable at frame base reg \$r[bs]p offset \S+|"
    r"complex DWARF expression:\s+0: DW_OP_fbreg -?\d+)\s*\.?\s*\Z"
)
_ABANDONED = re.compile(r"signaled while in a function called(?s:.*?)\n\((.+)\) will be aband")
_THREADS_MAX = 16  # threads that are searched for a function, at most
# Where GDB need not evaluate an operand.
_CHOOSES = re.compile(r"&&|\|\||\?|\b(?:and|or|xor)\b", re.IGNORECASE)
_OF_PYTHON = sum(1 << number for number in (16, 24, 27))  # rip, fs_base, the thread
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


class Binding:
    """An expression bound in a frame, which is the program's own unless OF_LIBRARY.

    Raises Unbound if a name means nothing there.
    """

    def __init__(self, expression: str, frame: Any, of_library: bool = False) -> None:
        self.expression = self._typed = expression
        self.language = "c" if frame.language().lower() == "unknown" else frame.language()
        self._this: tuple[int, str] | None = None
        self._function: tuple[Any, ...] | None = None
        self._function_name = ""
        self._by_place = False
        self._fixed: bool | None = None  # are its locals at fixed places of their frame?
        self._python: dict[str, pynames.Meaning] = {}
        self._kept_of: Binding | None = None
        self.evaluation = predicates.Evaluation()
        """How the last value was computed."""
        with self._selected(frame):
            self._python = _of_python(expression)
            self._variables, self._members = variables_of(expression, frame, of_library)
            plain = unqualified(expression, self._members)
            full = inherited.in_full(plain, self._variables, list(names(plain)))
            self._members = [one.rpartition("::")[2] for one in self._members]
            self.expression = full if self._python else texts.for_gdb(full)
            if self._members:
                self._this = this_of(frame)
                if self._this is None:
                    raise Unbound(f"{', '.join(self._members)}: this is optimized out")
                self._constructs = constructs(frame)
            if any(one.needs_frame for one in self._variables):
                home = None if self._members else home_of(self._variables, block_of(frame))
                self._in(home or frame.function())
            if self._function is None and self._this is None:
                self._by_place = self._same_by_place()
                if not self._by_place:
                    self._in(frame.function())

    def _in(self, function: Any) -> None:
        """Notes the function: the expression has a value while it runs."""
        if function is not None:
            self._function = key_of(function)
            self._function_name = called(function)

    @property
    def described(self) -> str:
        """`s in nanp, nan.f90:5`; empty if the expression names no variable."""
        if self._kept_of is not None:
            of = self._kept_of
            also = f"while that does not run, {', '.join(self.kept_values())}"
            if of._function is None:
                also = "also while no member function of it runs"
            return f"{of.described}; {also}"
        return self._said(self._this and self._object)

    @property
    def bound(self) -> str:
        """The same text in each rank in which the names mean the same variables."""
        return (self._kept_of or self)._said(self._this and self._this[1])

    def _said(self, of_object: str | None) -> str:
        said = described(self._variables, self._members, self._function_name, of_object)
        python = [meaning.described for meaning in self._python.values()]
        return "; ".join([said] * bool(said) + python)

    def value(self) -> Any:
        """The value at the position.  Raises Undefined."""
        self.evaluation = predicates.Evaluation()
        with self._context():
            try:
                try:
                    with synthetic.without_malloc(self._variables):
                        value = predicates.value(self._text_here())
                finally:
                    self.evaluation = predicates.evaluation()
                if not value.is_optimized_out:
                    value.fetch_lazy()
                    synthetic.need_address(value)
                    if value.type.strip_typedefs().code in _REFERENCES:
                        value.referenced_value().fetch_lazy()
                    return value
            except gdb.error as error:
                text = self._text(self.expression)
                bound = ((*one.span(), one[0]) for one in BOUND.finditer(text))
                said = absent.why(text, [*names(text), *bound])
                said = said or synthetic.lost(self._variables, error) or _of_call(str(error))
                said = inherited.as_written(without_placeholders(said, self._variables))
                raise Undefined(said) from None
        named = ", ".join([one.name for one in self._variables] + self._members)
        raise Undefined(f"{named or self.expression} is optimized out")

    def nowhere(self) -> str:
        """A text about a variable that the compiler has kept nowhere; empty: there is none, or the
        expression may have a value without it."""
        for one in [] if _CHOOSES.search(self.expression) else self._variables:
            if one.symbol is not None and not one.static_member and kept_nowhere(one.symbol):
                others = instead(one.symbol)
                hint = f" (of its type: {others})" if others else ""
                return f"{one.name}{one.where}, is optimized out everywhere{hint}"
        return ""

    def decided(self) -> list[str]:
        """The array elements that decided the last value, as text."""
        if not self.evaluation.deciding:
            return []
        with self._context():
            found = [inherited.as_written(one) for one in self.evaluation.decided()]
            found = [without_placeholders(one, self._variables) for one in found]
            return [inherited.as_named(one, self._typed) for one in found]

    def again(self, evaluation: predicates.Evaluation, values: list[Values]) -> list[Any]:
        """The results of EVALUATION here with each of VALUES; an Undefined if there is no
        result."""
        found: list[Any] = []
        here = self._context() if evaluation.needs_place else self._selected(gdb.newest_frame())
        with here, symbols.evaluating():
            for one in values:
                try:
                    value = evaluation.again(one)
                    if value.is_optimized_out:
                        raise gdb.error("it is optimized out")
                    found.append(value)
                except gdb.error as error:
                    why = without_placeholders(str(error), self._variables)
                    found.append(Undefined(why))
        return found

    def registers(self) -> int | None:
        """Registers that the value depends on besides memory: bit n is register n of Gpr; None: not
        known.  For an outer frame these are the callee-saved registers, of which variables at fixed
        places of their frame need those of the frames alone."""
        if "$" in re.sub(
            rf"{re.escape(texts.SAME)}s?\b|{re.escape(texts.DEFERRED)}\b", "", self.expression
        ):
            return None
        if self._by_place and self.language != "go":
            return 0
        if self._function is None and self._this is None:
            return _OF_PYTHON if self._python and not self._variables else None
        try:
            frame = self._alive()
        except Undefined:
            if len(gdb.selected_inferior().threads()) > 1:
                return None  # another thread's registers
            frame = None
        if not _is_outer(frame):
            return None
        return _OF_FRAMES if frame is not None and self._in_its_frame(frame) else _KEPT

    def _in_its_frame(self, frame: Any) -> bool:
        if self._fixed is None:
            with self._selected(frame):
                self._fixed = self._this is None and all(
                    _IN_ITS_FRAME.search(str(gdb.execute(f"info address {name}", to_string=True)))
                    for name in (one.in_frame for one in self._variables if one.needs_frame)
                )
        return self._fixed

    def need_meaning(self, frame: Any) -> None:
        """Raises Unbound, Unsuited or Unreadable if GDB cannot evaluate the expression in this
        frame for a reason other than a missing value."""
        with self._selected(frame):
            stand_in(self._variables)
            try:
                synthetic.need_address(predicates.value(self._text_here()))
            except (gdb.MemoryError, synthetic.Removed):
                return
            except gdb.error as error:
                if "syntax error" in str(error):
                    raise Unreadable(str(error)) from None
                if isinstance(error, cpython.Unsuited):
                    raise Unsuited(str(error)) from None
                # An expression with a type has a meaning, although it has no value here.
                lost = "optimized out" in str(error) or absent.no_place(error)
                if not lost and not _has_type(self._text(self.expression)):
                    said = inherited.as_written(str(error).rstrip("."))
                    raise Unbound(without_placeholders(said, self._variables)) from None

    def operands(self) -> list[tuple[int, int]]:
        """(address, length) of the memory that the expression reads here."""
        with self._context():
            found = {(at, kind.sizeof): None for _, at, kind in self._terms()}
            if self._python or predicates.arguments(self.expression):
                self.value()
                found.update(dict.fromkeys(predicates.read()))
        return list(found)

    def _terms(self) -> Iterator[tuple[tuple[int, int], int, Any]]:
        """(span, address, type) of each variable, or part of one, that it reads from memory."""
        rest = _TERM_OF_FORTRAN if self.language == "fortran" else _TERM_OF_C
        named = [*(one.name for one in self._variables), *self._members]
        plain = without_texts(self.expression)
        for start, _, name in names(self.expression):
            term = inherited.term(plain, start, name, rest)
            if name not in named or term is None:
                continue
            try:
                text = self._text_here(self.expression[slice(*term.span())])
                value = symbols.evaluated(subscripts.for_gdb(text))
                if value.type.strip_typedefs().code in _REFERENCES:
                    value = value.referenced_value()
                if value.address is not None and value.type.sizeof:
                    yield term.span(), int(value.address), value.type
            except gdb.error:
                continue  # this operand has no value here

    def of_bytes(self) -> Callable[[str], bool] | None:
        """A function from the bytes (hex) of what it reads from memory here to its truth; None: it
        reads several variables, or otherwise.  The function raises gdb.error."""
        with self._context():
            terms = list(self._terms())
            every = sum(1 for _ in names(self.expression))
        if len({(at, kind.sizeof) for _, at, kind in terms}) != 1 or len(terms) != every:
            return None
        if self._python or predicates.arguments(self.expression) or "$" in self.expression:
            return None
        text, kind = self.expression, terms[0][2]
        if wrapped.kind_of(kind):
            return None  # it is read at its address
        for (start, end), _, _ in reversed(terms):
            text = f"{text[:start]}$_rdb_read{text[end:]}"
        known: dict[str, bool] = {}

        def of(data: str) -> bool:
            if not data:
                raise gdb.MemoryError("there is no memory")
            if data not in known:
                with self._selected(gdb.newest_frame()):
                    gdb.set_convenience_variable("_rdb_read", gdb.Value(bytes.fromhex(data), kind))
                    known[data] = truth(predicates.value(text))
            return known[data]

        return of

    def kept(self) -> Binding | None:
        """The expression of what its locals are here, wherever their function does not run.

        None: they are no pointers, references or numbers, or the memory of one is its function's
        own.  Raises Undefined.
        """
        if self._by_place or self._python or self.language not in kept.LANGUAGES:
            return None
        with self._context():
            frame = gdb.selected_frame()
            this = [kept.member(name, frame) for name in self._members]
            variables = [
                kept.local(one, frame) if one.needs_frame else one for one in self._variables
            ]
        found = copy.copy(self)
        found._variables = [one for one in [*variables, *this] if one is not None]
        if len(found._variables) < len(variables) + len(this):
            return None
        found._function, found._this, found._members, found._by_place = None, None, [], True
        found._kept_of = self
        return found

    def kept_values(self) -> list[str]:
        """The locals and their values, as text; equal if they are the same."""
        return [f"{one.name} = {one.kept}" for one in self._variables if one.by_kept]

    @property
    def _object(self) -> str:
        assert self._this is not None
        return object_called(self._this)

    @contextmanager
    def _context(self) -> Iterator[None]:
        """Context in which the names mean the variables.  Raises Undefined."""
        if self._function is not None or self._this is not None:
            with self._thread(), self._selected(self._alive()), pynames.bound(self._python):
                stand_in(self._variables)
                yield
            return
        frame = gdb.newest_frame()
        if not self._by_place:
            self._need_same(frame)
        elif self.language == "go":
            # GDB 13 fails an assertion when it parses Go in a function of another language.
            of_go = next((one for one in frames() if one.language() == "go"), None)
            if of_go is None:
                raise Undefined("no function of Go is running")
            frame = of_go
        with self._selected(frame), pynames.bound(self._python):
            stand_in(self._variables)
            yield

    def exits(self) -> list[int]:
        """The last instructions at which it may have a value; empty: it always has one."""
        symbols = [one.symbol for one in self._variables if one.needs_frame and one.symbol]
        return alive.exits(symbols, self._meant()) if self._function and symbols else []

    def _selected(self, frame: Any) -> AbstractContextManager[None]:
        return selected(frame, self.language)

    def _text(self, text: str) -> str:
        """TEXT with placeholders or addresses for the variables' names."""
        return (placed if self._by_place else in_frame)(text, self._variables)

    def _text_here(self, part: str = "") -> str:
        """The expression, or a part, for GDB in the selected frame.  Raises gdb.error."""
        text = self._text(part or self.expression)
        return text if self._by_place else synthetic.for_gdb(text, self._members)

    def _same_by_place(self) -> bool:
        """Is the result the same with addresses for the names?  It is not for sizeof, for
        example."""
        stand_in(self._variables)
        if any(one.symbol is None for one in self._variables):
            return False
        if any(one.of_module for one in self._variables):
            return True
        plain = _outcome(in_frame(self.expression, self._variables))
        by_place = _outcome(placed(self.expression, self._variables))
        return plain == without_placeholders(by_place, self._variables)

    @contextmanager
    def _thread(self) -> Iterator[None]:
        """Context in which another thread is selected if only that thread is in the function."""
        mine = gdb.selected_thread()
        others = [] if self._running() or mine is None else gdb.selected_inferior().threads()
        if not 1 < len(others) <= _THREADS_MAX:
            yield
            return
        level = gdb.selected_frame().level()
        inside = []
        for one in others:
            one.switch()
            inside += [one] * (self._running() is not None)
        (inside[0] if len(inside) == 1 else mine).switch()
        try:
            yield
        finally:
            mine.switch()
            frame: gdb.Frame | None = gdb.newest_frame()
            while frame is not None and frame.level() < level:
                frame = frame.older()
            if frame is not None:
                frame.select()

    def _running(self) -> Any:
        """The function's innermost frame in the selected thread; None: it does not run."""
        for frame in frames():
            if frame.function() is not None and self._method(frame) and self._called(frame):
                return frame
        return None

    def _alive(self) -> Any:
        """The frame in which the names mean these variables, which have values.  Raises
        Undefined."""
        frame = self._meant()
        self._need_stored(frame)
        return frame

    def _meant(self) -> Any:
        """The frame in which the names mean these variables.  Raises Undefined."""
        frame = self._running()
        if frame is not None:
            self._need_same(frame)
            return frame
        if self._this is not None:
            for one in frames():
                if one.function() is not None and loses_this(one, self._this[1]):
                    raise Undefined(f"this is optimized out in {called(one.function())}")
            raise Undefined(f"no member function of {self._object} runs")
        raise Undefined(f"{self._function_name} is not running")

    def _need_stored(self, frame: Any) -> None:
        """Raises Undefined if the function has not stored its arguments yet."""
        if frame.level():
            return
        with self._selected(frame):
            said = prologue.unset(one.in_frame for one in self._variables if one.needs_frame)
        if said:
            raise Undefined(said)

    def _method(self, frame: Any) -> bool:
        if self._this is None:
            return True
        # At the beginning of a constructor members have no value yet.
        return this_of(frame) == self._this and (self._constructs or not constructs(frame))

    def _called(self, frame: Any) -> bool:
        return self._function is None or key_of(frame.function()) == self._function

    def _need_same(self, frame: Any) -> None:
        """Raises Undefined if the names mean other variables in this frame."""
        with self._selected(frame):
            for one in self._variables:
                symbol = looked_up(one.name, frame)
                if one.of_module:
                    continue
                if one.symbol is None:
                    key = value_key(one.name)
                    if key is None or key[1] != one.key[1] or not (key[1] or key == one.key):
                        raise Undefined(f"{one.name} is not that variable there")
                elif symbol is None or (one.needs_frame and not is_own(symbol)):
                    raise Undefined(f"{one.name} is out of scope")
                elif key_of(symbol) != one.key:
                    other = Variable(one.name, symbol, (), False).where
                    raise Undefined(f"{one.name} is another variable there{other}")


def _of_call(said: str) -> str:
    """A shorter text for GDB's error about a called function that did not return."""
    found = _ABANDONED.search(said)
    return f"{found[1]} was ended by a signal when it was called" if found else said


def _is_outer(frame: Any) -> bool:
    """Is the frame outside of the innermost function?"""
    for one in frames():
        if one == frame:
            return False
        if one.type() != gdb.INLINE_FRAME:
            return True
    return False


def bind(expression: str) -> Binding | None:
    """Binds an expression in the selected frame, if that is a library's and not the innermost, or
    else in the innermost frame of the program's own code in which all names mean something.

    None: no own code runs here.  Raises Unbound if the names mean nothing.
    """
    chosen = gdb.selected_frame()
    if chosen.level() and not in_own_file(chosen):
        return Binding(expression, chosen, of_library=True)
    try:
        python = _of_python(expression)
    except cpython.NotRunning:
        return None
    if python:
        binding = Binding(expression, chosen)
        binding.need_meaning(chosen)
        return binding
    why: list[Unbound] = []
    for frame in own_frames():
        if frame.level() < chosen.level():
            continue
        where = (expression, *_scope(frame))
        try:
            if where in _unbound:
                raise _unbound[where]
            binding = Binding(expression, frame)
            binding.need_meaning(frame)
            return binding
        except Unbound as unbound:
            if unbound.stays:
                _unbound[where] = unbound
            why.append(unbound)
    if why:
        # Why a known name cannot be used tells more than that a name is unknown.
        raise next((one for one in why if one.name is None), why[0])
    return None


def _of_python(expression: str) -> dict[str, pynames.Meaning]:
    """The meanings of names in predicates in a Python program.  Raises Unbound, NotRunning."""
    found = {}
    for name in names_of_python(expression):
        try:
            meaning = pynames.meaning(name)
        except cpython.NotRunning:
            raise
        except gdb.error as error:
            raise Unbound(str(error), getattr(error, "name", None)) from None
        if meaning is not None:
            found[name] = meaning
    return found


# Scopes in which an expression means nothing: searching a missing name takes long.
_unbound: dict[tuple[Any, ...], Unbound] = {}


def _scope(frame: Any) -> tuple[Any, ...]:
    try:
        block = frame.block()
    except RuntimeError:
        return (None, frame.pc())
    return (symbols.program(), block.start, block.end)


def truth(value: Any) -> bool:
    """Is the value other than 0?  Raises gdb.GdbError for a structure or an array."""
    kind = value.type.strip_typedefs()
    if kind.code in _REFERENCES:
        return truth(value.referenced_value())
    if wrapped.kind_of(kind):
        return truth(wrapped.truth(value))
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, *_MANY):
        raise gdb.GdbError(f"A value of type {value.type} is neither true nor false.")
    return bool(value)


_MANY = (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRING, *FUNCTIONS)


def _outcome(text: str) -> str:
    try:
        value = predicates.value(text)
        return f"{value.type}: {value}"
    except gdb.error as error:
        return str(error)


def _has_type(text: str) -> bool:
    if predicates.arguments(text):
        return False  # GDB would look for their names in all files
    text = subscripts.for_gdb(intrinsics.for_gdb(text))
    try:
        with symbols.evaluating():
            if elements.language("") in ("c", "c++", "asm", "fortran"):
                return bool(gdb.parse_and_eval(f"sizeof({text})").type)
            # Not while GDB evaluates a condition: to GDB the target still runs.
            return bool(gdb.execute(f"whatis {text}", to_string=True))
    except gdb.error:
        return False
