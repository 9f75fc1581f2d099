"""The meaning of a name in a Python program: `u`, `self.grid.u`, `u[1:-1, 0]`, `step::u`.

It is a variable of a running function of the program's own, innermost first, or a global of the
function's module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import gdb

from . import cpython, ndarrays, symbols
from .arrays import Array
from .cpython import Frame, Interpreter, NoVariable, Unreadable, Unsuited
from .own_frames import is_own, own_frames, own_symtab
from .pyobjects import Object

_OTHERS = re.compile(r"_rdb_\d+_")  # what stands for names that Python cannot parse
_TERM = re.compile(r"(?:([\w.<>]+)::)?([A-Za-z_]\w*)(.*)", re.DOTALL)
# Files of the installation, and frozen modules.
_NOT_OWN = re.compile(r"<frozen |.*/(site-packages|dist-packages|lib/python3[^/]*)/", re.DOTALL)
_STARTS = re.compile(r"<frozen (?!runpy>)")  # outermost frame of imports before the program


class Meaning(NamedTuple):
    """A local of FUNCTION, in FILE from line LINE on; or, if MODULE is not 0, a global in the dict
    at that address of the module named FUNCTION."""

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
    """Context in which the names have these meanings."""
    global _bound
    before, _bound = _bound, meanings
    try:
        yield
    finally:
        _bound = before


def meaning(name: str) -> Meaning | None:
    """The meaning of a name; None: it is a name of GDB.  Raises Unreadable, NoVariable."""
    found = cpython.running()
    function, _, variable = name.rpartition("::")
    if found is None or (not function and is_of_c(variable)):
        return None
    interpreter = Interpreter(*found)
    meaning, at = _named(interpreter, function, variable)
    if meaning.module or function or not at or Object(interpreter, at).is_fixed():
        return meaning
    # An argument: the caller's variable is the same object, and lives longer.
    for frame in _frames(interpreter):
        if frame.local(variable) == at:
            meaning = Meaning(variable, frame.function, frame.file, frame.first_line)
    return meaning


def is_bound(name: str) -> bool:
    """Is the name bound by `bound`?"""
    return name in _bound


def operand(text: str) -> Array | int | float | None:
    """The value of an operand of a predicate; None: GDB evaluates it.  Raises Unreadable."""
    found = cpython.running()
    term = _TERM.fullmatch(text.strip())
    if found is None or term is None or (not term[1] and is_of_c(term[2])):
        return None
    try:
        tree = ast.parse(f"{term[2]}{term[3]}", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    value = Reader(Interpreter(*found), term[1] or "").array(tree)
    if isinstance(value, Array) and term[1]:
        value.base = f"{term[1]}::{value.base}"
    return value


def place() -> dict[str, Any] | None:
    """Function, file and line of the program's running Python code; None: C code runs, or no
    Python."""
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
        return None  # Python has not started yet, or has ended


def lacks(name: str) -> bool | None:
    """Does none of the program's Python code have the name?  None: none of it runs here."""
    found = cpython.running()
    try:
        if found is not None:
            interpreter = Interpreter(*found)
            if _own(_frames(interpreter)):
                return not interpreter.has(name)
    except gdb.error:
        pass  # Python has not started yet, or has ended
    return None


def runs() -> bool:
    """Does Python code of the program's own run in any thread?"""
    return bool(_of_all_threads())


def function(name: str) -> int | None:
    """The address of a Python function, also of a class (`Solver.advance`), of a module that runs
    here; None: there is none."""
    first, *members = name.split(".")
    try:
        for frame in _of_all_threads():
            at = Object(frame.interpreter, frame.globals).entry(first)
            for member in members:
                at = Object(frame.interpreter, at).attribute(member) if at else 0
            if at and Object(frame.interpreter, at).type_name == "function":
                return at
    except gdb.error:
        pass  # the class has no such member
    return None


def _of_all_threads() -> list[Frame]:
    found = cpython.running()
    if found is None:
        return []
    interpreter = Interpreter(*found)
    try:
        return [
            frame
            for thread, _ in interpreter.threads()
            for frame in _own(list(interpreter.frames(thread)))
        ]
    except gdb.error:
        return []  # Python has not started yet, or has ended


def is_of_c(name: str) -> bool:
    """Does an extension module that runs here, or the C program, have such a variable?"""
    try:
        frame = gdb.selected_frame()
        chosen = _own_c(frame) or (frame.level() and not _of_interpreter(frame))
        symbol = symbols.find(name, frame.block())[0] if chosen else None
        if symbol is not None and not symbol.is_function:
            return True
        symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    except (gdb.error, RuntimeError):
        return False
    if symbol is None or symbol.symtab is None or symbol.is_function:
        return False
    return _of_own_c(symbol.symtab)


def _own_c(frame: Any) -> bool:
    return is_own(frame) and _of_own_c(frame.find_sal().symtab)


def _of_interpreter(frame: Any) -> bool:
    symtab = frame.find_sal().symtab
    return symtab is None or cpython.of_interpreter(symtab)


def _of_own_c(symtab: Any) -> bool:
    return own_symtab(symtab) and not cpython.of_interpreter(symtab)


def _frames(interpreter: Interpreter) -> list[Frame]:
    """Frames of the program's own code, from the selected frame outwards; all if there are none."""
    selected = gdb.selected_frame()
    lowest = int(selected.read_register("rsp")) if selected.level() else 0
    thread = int(selected.read_register("fs_base")) & (1 << 64) - 1
    frames = [one for one in interpreter.frames(thread) if one.caller >= lowest]
    if (own := _own(frames)) or not frames or _STARTS.match(frames[-1].file):
        return own
    return frames


def _own(frames: list[Frame]) -> list[Frame]:
    """The program's own frames; executed text (<string>) belongs to the code that executes it."""
    found: list[Frame] = []
    mine = True
    for one in reversed(frames):
        mine = not _NOT_OWN.match(one.file) and (mine or not one.file.startswith("<"))
        found += [one] * mine
    return found[::-1]


def _named(interpreter: Interpreter, function: str, name: str) -> tuple[Meaning, int]:
    """The innermost variable of that name, and the address of its object (0: none yet).

    Raises NoVariable.
    """
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
    raise NoVariable(name, f'No variable "{name}" in Python here: {where} runs')


def _again(interpreter: Interpreter, meaning: Meaning) -> int:
    if meaning.module:
        if _module_name(interpreter, meaning.module) != meaning.function:
            raise Unreadable(f"module {meaning.function} is not imported here")
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


class Reader:
    def __init__(
        self,
        interpreter: Interpreter,
        function: str = "",
        written: Mapping[str, str] | None = None,
        compute: Callable[[ast.expr], Any] | None = None,
    ) -> None:
        """FUNCTION: names are its variables.  WRITTEN: names that stand for others.  COMPUTE:
        computes indices and keys."""
        self._interpreter = interpreter
        self._function = function
        self._written = written or {}
        self._compute = compute or self.value

    def text(self, tree: ast.expr) -> str:
        """The text of a part, about as written."""
        return _OTHERS.sub(lambda found: self._written.get(found[0], found[0]), ast.unparse(tree))

    def array(self, tree: ast.expr) -> Array | int | float:
        text = self.text(tree)
        found = self.value(tree)
        if isinstance(found, ndarrays.View):
            return found.array()
        if isinstance(found, Object):
            number = found.number()
            if number is None or isinstance(number, complex):
                of = Unreadable if number or found.type_name == "NoneType" else Unsuited
                raise of(f"{text} is a {found.type_name}, not a numpy array")
            return number
        return found

    def value(self, tree: ast.expr) -> Object | ndarrays.View | int | float:
        text = self.text(tree)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            operand: int = self._index(tree.operand)
            return -operand
        if isinstance(tree, ast.Name):
            return self._object(self._variable(tree.id), text)
        if isinstance(tree, ast.Attribute):
            of = self.value(tree.value)
            if isinstance(of, ndarrays.View):
                return ndarrays.part(of, tree.attr, text)
            if isinstance(of, Object):
                number = of.number() if tree.attr in ("real", "imag") else None
                if number is not None:
                    part: float = getattr(number, tree.attr)
                    return part
                return self._object(of.attribute(tree.attr), text)
        if isinstance(tree, ast.Subscript):
            return self._item(self.value(tree.value), tree, text)
        raise Unreadable(
            f"{text}: of Python's expressions rdb computes names, attributes, items, slices"
        )

    def _item(self, of: Any, tree: ast.Subscript, text: str) -> Object | ndarrays.View:
        parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        if isinstance(of, ndarrays.View):
            return of.at([self._slice(one) for one in parts], self.text(tree.value))
        if not isinstance(of, Object):
            raise Unreadable(f"{self.text(tree.value)} is a number")
        return self._object(of.item(self._index(tree.slice, keys=True)), text)

    def _slice(self, tree: ast.expr) -> int | slice:
        if not isinstance(tree, ast.Slice):
            index: int = self._index(tree)
            return index
        ends = (tree.lower, tree.upper, tree.step)
        return slice(*(None if one is None else self._index(one) for one in ends))

    def _index(self, tree: ast.expr, keys: bool = False) -> Any:
        """An integer; with KEYS also a str."""
        found: Any = tree.value if isinstance(tree, ast.Constant) else self._compute(tree)
        if isinstance(found, Object):
            found = found.number() if found.text() is None else found.text()
        if not isinstance(found, (int, str) if keys else int):
            raise Unreadable(f"{self.text(tree)} is not an index")
        return found

    def _variable(self, name: str) -> int:
        full = self._written.get(name, f"{self._function}::{name}" if self._function else name)
        if full in _bound:
            return _again(self._interpreter, _bound[full])
        function, _, variable = full.rpartition("::")
        return _named(self._interpreter, function, variable)[1]

    def _object(self, address: int, text: str) -> Object | ndarrays.View:
        if not address:
            raise Unreadable(f"{text} has no value yet")
        found = Object(self._interpreter, address)
        return ndarrays.view(found, text) or found
