"""Predicates over arrays and containers: allfinite(e), all(a > 0), max(abs(u)) < 1e6.

rdb's own commands take them as they are.  In GDB's own they are functions of its, which are given
the expression as a text: `break f if !$allfinite("e")`, in Fortran `print $max('abs(u)')`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gdb

from . import cpython, elements, intrinsics, symbols
from .arrays import Array
from .elementwise import OF_ONE, Plan, joined, planned
from .own_frames import own_symtab

# interposer/seek/agent.h: enum agent_array_fold
_ALL, _ANY, _COUNT, _SUM, _MAX, _MIN, _SORTED, _CHECKSUM = range(1, 9)
FOLDS: dict[str, tuple[int, str]] = {
    "allfinite": (_ALL, "isfinite({})"),
    "all": (_ALL, "{}"),
    "any": (_ANY, "{}"),
    "count": (_COUNT, "{}"),
    "sum": (_SUM, "{}"),
    "max": (_MAX, "{}"),
    "min": (_MIN, "{}"),
    "sorted": (_SORTED, "{}"),
    "checksum": (_CHECKSUM, "{}"),
}
_TRUTHS = (_ALL, _ANY, _SORTED)
_CALL = re.compile(rf"(?<![\w$.>:%])({'|'.join(FOLDS)})\s*\(")
_FUNCTION = re.compile(rf"\$({'|'.join(FOLDS)}|_rdb_true)\s*\(")
# Of what GDB is left with: predicates, numbers, operators of Fortran.
_ELSEWHERE = re.compile(
    r"\$_rdb_fold\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\.(?:or|and|not|le|ge|eq|ne|lt|gt)\.",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)


@dataclass
class Evaluation:
    """An expression as it was evaluated: its predicates, and what is left of it for GDB."""

    folds: list[Plan] = field(default_factory=list)
    deciding: list[tuple[Array, int, int]] = field(default_factory=list)
    """The elements that decided it: array, number and node."""
    text: str = ""
    """Empty: it is one predicate and nothing else."""
    whole: bool = False
    """All predicates had a value."""
    refused: bool = False
    """The last one had none: its array cannot be read."""

    @property
    def needs_place(self) -> bool:
        """Does more of it than the predicates depend on where one stands?"""
        return bool(re.search(r"[A-Za-z_$]", _ELSEWHERE.sub("", self.text)))

    def decided(self) -> list[str]:
        """The elements, with the values that they have where GDB stands."""
        return [_element(*one) for one in self.deciding]

    def again(self, values: Sequence[tuple[float, float]]) -> Any:
        """With other values of the predicates, each the sum of two, where GDB stands; within
        `symbols.evaluating`."""
        found = [
            _in_gdb(plan, joined(*value))
            for plan, value in zip(self.folds, values)  # noqa: B905 - Python 3.9
        ]
        return self.of_text(found) if self.text else found[0]

    def of(self, found: list[Any]) -> Any:
        if not self.text:
            return found[0]
        with symbols.evaluating():
            return self.of_text(found)

    def of_text(self, found: list[Any]) -> Any:
        """Within `symbols.evaluating`."""
        for number, one in enumerate(found):
            gdb.set_convenience_variable(f"_rdb_fold{number}", one)
        return intrinsics.narrowed(gdb.parse_and_eval(self.text))


_last = Evaluation()
_kept: list[str] = []
_read: list[tuple[int, int]] = []


def decided() -> list[str]:
    """The elements that decided the last evaluation, with their values."""
    return _last.decided()


def read() -> list[tuple[int, int]]:
    """(address, length) of the arrays of the last evaluation."""
    return list(_read)


def evaluation() -> Evaluation:
    """The last one; it is not changed by others."""
    return _last


def arguments(expression: str) -> list[tuple[int, int]]:
    """Where those of predicates begin and end."""
    return [(first, last) for _, _, first, last in _calls(expression)]


def words(expression: str) -> set[int]:
    """Where the names of functions begin that GDB has not."""
    found = set(intrinsics.calls(expression))
    for _, start, first, last in _calls(expression):
        found.add(start)
        for inner in re.finditer(rf"\b({'|'.join(OF_ONE)})\s*\(", expression[first:last]):
            found.add(first + inner.start())
    return found


def value(expression: str) -> Any:
    """What `gdb.parse_and_eval` gives, with predicates; in the selected frame."""
    one = _begin()
    parts: list[str] = []
    found: list[Any] = []
    end = 0
    for number, (name, start, first, last) in enumerate(_calls(expression)):
        found.append(_evaluated(name, expression[first:last]))
        if start == 0 and last + 1 == len(expression.strip()):
            one.whole = True
            return found[0]
        parts += [expression[end:start], f"$_rdb_fold{number}"]
        end = last + 1
    one.whole = True
    one.text = intrinsics.for_gdb("".join([*parts, expression[end:]]))
    return one.of(found)


def _begin() -> Evaluation:
    global _last
    _read.clear()
    _last = Evaluation()
    return _last


def in_gdbs(line: str) -> str:
    """A command of GDB's own whose expressions have predicates, as GDB takes it."""
    parts: list[str] = []
    end = 0
    for name, start, first, last in _calls(line):
        parts += [line[end:start], f"${name}({quoted(line[first:last])})"]
        end = last + 1
    return intrinsics.for_gdb("".join([*parts, line[end:]]))


def in_function(text: str) -> bool:
    """Is there a predicate in what GDB evaluates?"""
    return _FUNCTION.search(text) is not None


def quoted(text: str) -> str:
    """As a text of the language."""
    spoken = elements.language("")
    if spoken == "fortran":
        return "'" + text.replace("'", "''") + "'"
    if spoken == "rust":  # GDB would put a text into the program's memory
        if text not in _kept:
            _kept.append(text)
            gdb.set_convenience_variable(f"_rdb_text{_kept.index(text)}", text)
        return f"$_rdb_text{_kept.index(text)}"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _calls(expression: str) -> Any:
    """(name, where it begins, its argument's begin and end) of the outermost ones."""
    plain = _TEXTS.sub(lambda found: "_" * len(found[0]), expression)
    at = 0
    while True:
        found = _CALL.search(plain, at)
        if found is None:
            return
        depth, last = 1, found.end()
        while last < len(plain) and depth:
            depth += (plain[last] in "([") - (plain[last] in ")]")
            last += 1
        at = last
        if depth == 0 and not _is_the_programs(found[1]):
            yield found[1], found.start(), found.end(), last - 1


def _is_the_programs(name: str) -> bool:
    """A function or an array of the program's own has the name."""
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        return False
    return symbol.symtab is None or (
        own_symtab(symbol.symtab) and not cpython.of_interpreter(symbol.symtab)
    )


def alone(name: str, argument: str) -> Any:
    """The value of one predicate."""
    _begin()
    return _evaluated(name, argument)


def _evaluated(name: str, argument: str) -> Any:
    fold, wrapped = FOLDS[name]
    plan = planned(fold, wrapped.format(f"({argument})"))
    _last.folds.append(plan)
    try:
        found, number, nodes = plan.run()
    except gdb.MemoryError:
        _last.refused = True
        raise
    _read.extend(array.span for array in plan.arrays if not array.nodes)
    if plan.fold not in (_COUNT, _SUM, _CHECKSUM) and number is not None:
        _last.deciding += [(one, number, nodes[place]) for place, one in enumerate(plan.arrays)]
    return _in_gdb(plan, found)


def _in_gdb(plan: Plan, found: float | int) -> Any:
    if plan.fold in _TRUTHS:
        return gdb.Value(bool(found))
    if plan.fold not in (_COUNT, _CHECKSUM) and any(one.is_real for one in plan.arrays):
        return gdb.Value(float(found))
    whole = int(found)
    if whole < 2**63:
        return gdb.Value(whole)
    return gdb.Value(whole.to_bytes(8, "little"), gdb.lookup_type("unsigned long"))


def _element(array: Array, number: int, node: int) -> str:
    name = array.name(number, node)
    try:
        return f"{name} = {array.shown(number, node)}"
    except gdb.error:
        return name


def text_of(value: Any) -> str | None:
    """What a literal text says.  Asked for its address GDB would call the program's malloc."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRING:
        shown = str(value.format_string(max_elements=0))
        return shown[1:-1].replace("''", "'")
    if kind.code != gdb.TYPE_CODE_ARRAY or kind.target().strip_typedefs().sizeof != 1:
        return None
    return str(value.string())
