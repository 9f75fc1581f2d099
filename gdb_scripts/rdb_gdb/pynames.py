"""What a name means in a Python program: `u`, `self.grid.u`, `u[1:-1, 0]`, `step::u`.

A variable of a running function of the program's own, innermost first, or a global of its module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gdb

from . import cpython, ndarrays, symbols
from .arrays import Array
from .cpython import Frame, Interpreter, Unreadable
from .own_frames import is_own, own_frames, own_symtab
from .pyobjects import Object

_TERM = re.compile(r"(?:([\w.<>]+)::)?([A-Za-z_]\w*)(.*)", re.DOTALL)
# Code of the installation, or of none.
_NOT_OWN = re.compile(r"<frozen |.*/(site-packages|dist-packages|lib/python3[^/]*)/", re.DOTALL)


@dataclass(frozen=True)
class Meaning:
    """FUNCTION in FILE, from line LINE on; or a global, in the dict at MODULE of that __name__."""

    name: str
    function: str
    file: str
    line: int
    module: int = 0

    @property
    def described(self) -> str:
        file = self.file.rsplit("/", 1)[-1]
        if self.module:
            return f"{self.name} of module {self.function}, {file}"
        return f"{self.name} in {self.function}, {file}:{self.line}"


_bound: dict[str, Meaning] = {}


@contextmanager
def bound(meanings: dict[str, Meaning]) -> Iterator[None]:
    """The names mean these meanwhile."""
    global _bound
    before, _bound = _bound, meanings
    try:
        yield
    finally:
        _bound = before


def meaning(name: str) -> Meaning | None:
    """None: it is GDB's.  Unreadable: it is not there."""
    found = cpython.running()
    function, _, variable = name.rpartition("::")
    if found is None or (not function and is_of_c(variable)):
        return None
    interpreter = Interpreter(*found)
    meaning, at = _named(interpreter, function, variable)
    if meaning.module or function:
        return meaning
    # It has been handed down: the caller's variable is the same object, and lives longer.
    for frame in _frames(interpreter):
        if frame.local(variable) == at:
            meaning = Meaning(variable, frame.function, frame.file, frame.first_line)
    return meaning


def operand(text: str) -> Array | int | float | None:
    """None: it is GDB's to evaluate."""
    found = cpython.running()
    term = _TERM.fullmatch(text.strip())
    if found is None or term is None or (not term[1] and is_of_c(term[2])):
        return None
    try:
        tree = ast.parse(f"{term[2]}{term[3]}", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    value = _Reader(Interpreter(*found), term[1] or "").array(tree)
    if isinstance(value, Array) and term[1]:
        value.base = f"{term[1]}::{value.base}"
    return value


def place() -> dict[str, Any] | None:
    """Function, file and line of the program's own that runs.  None: it is C's, or no Python."""
    found = cpython.running()
    if found is None:
        return None
    try:
        frame = _frames(Interpreter(*found))[0]
        for inner in own_frames():
            if int(inner.read_register("rsp")) < frame.caller and _own_c(inner):
                return None
        return {"function": frame.function, "file": frame.file, "line": frame.line}
    except (gdb.error, IndexError):
        return None  # Python does not run yet, or not any more


def is_of_c(name: str) -> bool:
    """Has an extension module that stands here, or the program below Python, such a variable?"""
    try:
        frame = gdb.selected_frame()
        chosen = _own_c(frame) or (frame.level() and not _of_interpreter(frame))
        symbol = symbols.find(name, frame.block())[0] if chosen else None
        if symbol is not None:
            return True
        symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    except (gdb.error, RuntimeError):
        return False
    return symbol is not None and symbol.symtab is not None and _of_own_c(symbol.symtab)


def _own_c(frame: Any) -> bool:
    return is_own(frame) and _of_own_c(frame.find_sal().symtab)


def _of_interpreter(frame: Any) -> bool:
    symtab = frame.find_sal().symtab
    return symtab is None or cpython.of_interpreter(symtab)


def _of_own_c(symtab: Any) -> bool:
    return own_symtab(symtab) and not cpython.of_interpreter(symtab)


def _frames(interpreter: Interpreter) -> list[Frame]:
    """Of the program's own code, if there are any; the selected frame's, and its callers'."""
    selected = gdb.selected_frame()
    lowest = int(selected.read_register("rsp")) if selected.level() else 0
    thread = int(selected.read_register("fs_base")) & (1 << 64) - 1
    frames = [one for one in interpreter.frames(thread) if one.caller >= lowest]
    return [one for one in frames if not _NOT_OWN.match(one.file)] or frames


def _named(interpreter: Interpreter, function: str, name: str) -> tuple[Meaning, int]:
    """The innermost variable of that name, and the address of its object."""
    frames = _frames(interpreter)
    for frame in frames:
        if function not in ("", frame.function, frame.function.rpartition(".")[2]):
            continue
        at = frame.local(name)
        if at is None and frame.locals not in (0, frame.globals):
            at = Object(interpreter, frame.locals).entry(name) or None
        if at is not None:
            return Meaning(name, frame.function, frame.file, frame.first_line), at
        at = Object(interpreter, frame.globals).entry(name)
        if at:
            module = _module_name(interpreter, frame.globals)
            return Meaning(name, module, frame.file, 0, frame.globals), at
    where = ", ".join(dict.fromkeys(one.function for one in frames)) or "no Python function"
    raise Unreadable(f'No variable "{name}" in Python here: {where} runs')


def _again(interpreter: Interpreter, meaning: Meaning) -> int:
    if meaning.module:
        if _module_name(interpreter, meaning.module) != meaning.function:
            raise Unreadable(f"module {meaning.function} is not there")
        return Object(interpreter, meaning.module).entry(meaning.name)
    for frame in _frames(interpreter):
        if (frame.function, frame.file, frame.first_line) != (
            meaning.function, meaning.file, meaning.line
        ):  # fmt: skip
            continue
        at = frame.local(meaning.name)
        if at is None and frame.locals:
            at = Object(interpreter, frame.locals).entry(meaning.name)
        return at or 0
    raise Unreadable(f"{meaning.function} is not running")


def _module_name(interpreter: Interpreter, module: int) -> str:
    try:
        return interpreter.text(Object(interpreter, module).entry("__name__"))
    except Unreadable:
        return ""


class _Reader:
    def __init__(self, interpreter: Interpreter, function: str) -> None:
        self._interpreter = interpreter
        self._function = function

    def array(self, tree: ast.expr) -> Array | int | float:
        text = ast.unparse(tree)
        found = self._value(tree)
        if isinstance(found, ndarrays.View):
            return found.array()
        if isinstance(found, Object):
            number = found.number()
            if number is None:
                raise Unreadable(f"{text} is a {found.type_name}, no array of numpy")
            return number
        return found

    def _value(self, tree: ast.expr) -> Object | ndarrays.View | int | float:
        text = ast.unparse(tree)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._index(tree.operand)
        if isinstance(tree, ast.Name):
            return self._object(self._variable(tree.id), text)
        if isinstance(tree, ast.Attribute):
            of = self._value(tree.value)
            if isinstance(of, ndarrays.View):
                return ndarrays.part(of, tree.attr, text)
            if isinstance(of, Object):
                return self._object(of.attribute(tree.attr), text)
        if isinstance(tree, ast.Subscript):
            return self._item(self._value(tree.value), tree, text)
        raise Unreadable(f"{text}: rdb computes names, attributes, items and slices of Python's")

    def _item(self, of: Any, tree: ast.Subscript, text: str) -> Object | ndarrays.View:
        parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        if isinstance(of, ndarrays.View):
            return of.at([self._slice(one) for one in parts], ast.unparse(tree.value))
        if not isinstance(of, Object):
            raise Unreadable(f"{ast.unparse(tree.value)} is a number")
        if isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, str):
            return self._object(of.item(tree.slice.value), text)
        return self._object(of.item(self._index(tree.slice)), text)

    def _slice(self, tree: ast.expr) -> int | slice:
        if not isinstance(tree, ast.Slice):
            return self._index(tree)
        ends = (tree.lower, tree.upper, tree.step)
        return slice(*(None if one is None else self._index(one) for one in ends))

    def _index(self, tree: ast.expr) -> int:
        found = self._value(tree)
        number = found.number() if isinstance(found, Object) else found
        if not isinstance(number, int):
            raise Unreadable(f"{ast.unparse(tree)} is no index")
        return number

    def _variable(self, name: str) -> int:
        full = f"{self._function}::{name}" if self._function else name
        if full in _bound:
            return _again(self._interpreter, _bound[full])
        return _named(self._interpreter, self._function, name)[1]

    def _object(self, address: int, text: str) -> Object | ndarrays.View:
        if not address:
            raise Unreadable(f"{text} has no value yet")
        found = Object(self._interpreter, address)
        return ndarrays.view(found, text) or found
