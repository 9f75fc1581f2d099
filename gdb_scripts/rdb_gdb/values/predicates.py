"""Predicates over arrays and containers: allfinite(e), all(a > 0), max(abs(u)) < 1e6.

rdb's own commands take them as written.  For GDB's commands they become convenience functions with
the expression as a string: `break f if !$allfinite("e")`, in Fortran `print $max('abs(u)')`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gdb

from . import cpython, elements, intrinsics, pynames, pyvalues, scalars, subscripts, symbols, texts
from .arrays import Array
from .elementwise import FUNCTIONS, Plan, compares, given, joined, planned
from .operands import operand_start
from .own_frames import own_symtab

# interposer/interface/agent.h: enum agent_array_fold
_ALL, _ANY, _COUNT, _SUM, _MAX, _MIN, _SORTED, _CHECKSUM = range(1, 9)
_PRODUCT, _WHERE_MAX, _WHERE_MIN = range(9, 12)
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
    "maxval": (_MAX, "{}"),
    "minval": (_MIN, "{}"),
    "product": (_PRODUCT, "{}"),
    "prod": (_PRODUCT, "{}"),
    "maxloc": (_WHERE_MAX, "{}"),
    "minloc": (_WHERE_MIN, "{}"),
    "argmax": (_WHERE_MAX, "{}"),
    "argmin": (_WHERE_MIN, "{}"),
}
_TRUTHS = (_ALL, _ANY, _SORTED)
_OF_NUMPY = {"amax": "max", "amin": "min", "count_nonzero": "count"}
_NAMES = "|".join(FOLDS)
_CALL = re.compile(rf"(?<![\w$.>:%])({_NAMES})\s*\(")
_CALL_OF_FORTRAN = re.compile(_CALL.pattern, re.IGNORECASE)
_CALL_OF_PYTHON = re.compile(
    rf"(?<![\w$.>:%])(?:(?:np|numpy)\s*\.\s*({_NAMES}|{'|'.join(_OF_NUMPY)})|({_NAMES}))\s*\("
)
_METHOD = re.compile(r"\s*\.\s*(all|any|sum|prod|max|min|argmax|argmin)\s*\(\s*\)")
_FUNCTION = re.compile(rf"\$({'|'.join(FOLDS)}|_rdb_true|_rdb_here|_rdb_shown)\s*\(")
# Parts of the rest for GDB that need no frame: predicates, numbers, operators of Fortran.
_ELSEWHERE = re.compile(
    r"\$_rdb_fold\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\.(?:or|and|not|le|ge|eq|ne|lt|gt)\.",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:''|\\.|[^'\\])*'", re.DOTALL)


@dataclass
class Evaluation:
    """An evaluated expression: its predicates, and the rest for GDB."""

    folds: list[Plan] = field(default_factory=list)
    deciding: list[tuple[Array, int, int]] = field(default_factory=list)
    """The elements that decided it: (array, number, node)."""
    text: str = ""
    """The rest; empty: the expression is a single predicate."""
    python: pyvalues.Expression | None = None
    """TEXT as an expression of Python; None: it is GDB's."""
    whole: bool = False
    """All predicates had a value."""
    refused: bool = False
    """The last one had no value: its array cannot be read."""

    @property
    def needs_place(self) -> bool:
        return needs_place(self.text)

    def decided(self) -> list[str]:
        """The deciding elements with their values at the position."""
        return list(dict.fromkeys(_element(*one) for one in self.deciding))

    def again(self, values: Sequence[tuple[float, float]]) -> Any:
        """The value with other values of the predicates, each as (high part, low part).

        Call it within `symbols.evaluating`.
        """
        found = [_in_gdb(plan, joined(*value)) for plan, value in zip(self.folds, values)]
        return self.of_text(found) if self.text else found[0]

    def of(self, found: list[Any]) -> Any:
        if not self.text:
            return found[0]
        with symbols.evaluating():
            return self.of_text(found)

    def of_text(self, found: list[Any]) -> Any:
        """The value of TEXT with these predicates; call it within `symbols.evaluating`."""
        for number, one in enumerate(found):
            gdb.set_convenience_variable(f"_rdb_fold{number}", one)
        if self.python is not None:
            try:
                return self.python.value()
            finally:
                _read.extend(self.python.read)
        return intrinsics.narrowed(gdb.parse_and_eval(self.text))


def needs_place(text: str) -> bool:
    """Does the rest of an expression depend on the position?"""
    return bool(re.search(r"[A-Za-z_$]", _ELSEWHERE.sub("", text)))


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
    """The last evaluation; later ones do not change it."""
    return _last


def arguments(expression: str) -> list[tuple[int, int]]:
    """Begin and end of the predicates' arguments."""
    return [(one.first, one.last) for one in _calls(expression)]


def words(expression: str) -> set[int]:
    """Offsets of names of functions that GDB does not have."""
    found = intrinsics.words(expression)
    for one in _calls(expression):
        if one.start != one.first:
            found.add(one.start)
        for inner in _INNER.finditer(expression, one.first, one.last):
            found.add(inner.start())
    return found


_INNER = re.compile(
    r"(?<![\w$.>:%])(?:(?:np|numpy|math)\s*\.\s*|std\s*::\s*)?"
    rf"({'|'.join((*FUNCTIONS, *FOLDS))})\s*\(",
    re.IGNORECASE,
)


def value(expression: str) -> Any:
    """As gdb.parse_and_eval, but with predicates; in the selected frame."""
    one = _begin()
    found: list[Any] = []
    for call in _calls(expression):
        found.append(_evaluated(call.name, expression[call.first : call.last]))
        if call.start == 0 and call.end == len(expression.strip()):
            one.whole = True
            return found[0]
    one.whole = True
    one.python = pyvalues.expression(rest(expression))
    one.text = rest(expression)
    if one.python is None:
        one.text = subscripts.for_gdb(intrinsics.for_gdb(_with_scalars(one.text, found)))
        texts.need_values(one.text)
    return one.of(found)


def _with_scalars(text: str, found: list[Any]) -> str:
    """The rest of an expression, with convenience variables also in place of its scalars if nothing
    else in it depends on the position.  Adds their values to FOUND."""
    if not _of_scalars:
        return text
    replaced, plans = scalars.planned(text, len(found))
    if not plans or needs_place(replaced):
        return text
    values = [_of_plan(plan)[0] for plan in plans]
    found += map(_in_gdb, plans, values)
    return replaced


_of_scalars = False


@contextmanager
def of_scalars() -> Iterator[None]:
    """Context in which scalars of an expression are read as predicates are, by the agent."""
    global _of_scalars
    _of_scalars = True
    try:
        yield
    finally:
        _of_scalars = False


def rest(expression: str) -> str:
    """The expression with convenience variables in place of the predicates."""
    parts: list[str] = []
    end = 0
    for number, call in enumerate(_calls(expression)):
        parts += [expression[end : call.start], f"$_rdb_fold{number}"]
        end = call.end
    return "".join([*parts, expression[end:]])


def _begin() -> Evaluation:
    global _last
    _read.clear()
    _last = Evaluation()
    return _last


def in_gdbs(line: str) -> str:
    """A GDB command with predicates, in the form that GDB takes."""
    parts: list[str] = []
    end = 0
    for call in _calls(line):
        argument = quoted(line[call.first : call.last])
        parts += [line[end : call.start], f"${call.name}({argument})"]
        end = call.end
    return intrinsics.for_gdb("".join([*parts, line[end:]]))


_IN_GDBS = re.compile(
    rf"\$({'|'.join(FOLDS)}|_rdb_shown)\s*\(\s*({_TEXTS.pattern}|\$_rdb_text\d+)\s*\)", re.DOTALL
)


def as_written(text: str) -> str:
    """The inverse of `in_gdbs` and `shown`."""

    def written(found: re.Match[str]) -> str:
        said = _said(found[2])
        return said if found[1] == "_rdb_shown" else f"{found[1]}({said})"

    return _IN_GDBS.sub(written, text)


def shown(expression: str) -> str:
    """An expression in the form for GDB commands that cannot evaluate it."""
    return f"$_rdb_shown({quoted(expression)})"


def _said(text: str) -> str:
    if text[0] == "$":
        return _kept[int(text.removeprefix("$_rdb_text"))]
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def in_function(text: str) -> bool:
    """Has an expression of GDB a predicate, or an expression of Python?"""
    return _FUNCTION.search(text) is not None


def quoted(text: str, spoken: str = "") -> str:
    """TEXT as a string literal of the language SPOKEN, or that of the selected frame."""
    spoken = spoken or elements.language("")
    if spoken == "fortran":
        return "'" + text.replace("'", "''") + "'"
    if spoken == "rust":  # GDB would write a literal to the program's memory
        if text not in _kept:
            _kept.append(text)
            gdb.set_convenience_variable(f"_rdb_text{_kept.index(text)}", text)
        return f"$_rdb_text{_kept.index(text)}"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Call(NamedTuple):
    """A predicate in an expression: offsets of its begin and end, and of its argument's."""

    start: int
    first: int
    last: int
    end: int
    name: str


def _calls(expression: str) -> list[_Call]:
    """The outermost predicates."""
    plain = _TEXTS.sub(lambda found: "_" * len(found[0]), expression)
    python = cpython.running() is not None
    fortran = not python and elements.language("") == "fortran"
    pattern = _CALL_OF_PYTHON if python else _CALL_OF_FORTRAN if fortran else _CALL
    methods = list(_methods(plain)) if python else []
    calls: list[_Call] = []
    at = 0
    while (found := pattern.search(plain, at)) is not None:
        depth, last = 1, found.end()
        while last < len(plain) and depth:
            depth += (plain[last] in "([") - (plain[last] in ")]")
            last += 1
        at = last
        name = str(next(one for one in found.groups() if one)).lower()
        argument = plain[found.end() : last - 1]
        bare = found[found.re.groups]  # not np.sum
        if depth == 0 and not (bare and _is_the_programs(bare, argument)):
            name = _OF_NUMPY.get(name, name)
            calls.append(_Call(found.start(), found.end(), last - 1, last, name))
    inside = [one for one in methods if any(c.first <= one.start < c.last for c in calls)]
    within = [one for one in calls if any(m.first <= one.start < m.last for m in methods)]
    return sorted(one for one in [*calls, *methods] if one not in [*inside, *within])


def _methods(plain: str) -> Iterator[_Call]:
    """numpy's `u.max()`, `(u > 0).all()`."""
    for found in _METHOD.finditer(plain):
        start = operand_start(plain, found.start())
        name = re.match(r"[A-Za-z_]\w*", plain[start:])
        if start < found.start() and not (name and pynames.is_of_c(name[0])):
            yield _Call(start, start, found.start(), found.end(), found[1])


def _is_the_programs(name: str, argument: str) -> bool:
    """Has a function or an array of the program the name?  Other variables are not called, and
    neither is an array with itself."""
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        symbol = gdb.lookup_global_symbol(name)
    if symbol is None or (symbol.is_variable and symbol.type and _is_number(symbol.type)):
        return False
    if not symbol.is_function and _no_subscript(name, argument):
        return False
    return symbol.symtab is None or (
        own_symtab(symbol.symtab) and not cpython.of_interpreter(symbol.symtab)
    )


def _no_subscript(name: str, argument: str) -> bool:
    """Can the argument not be a subscript of an array of that name: `all(all .or. m)`, `sum(sum)`,
    `any(k > 3)`?"""
    whole = re.search(rf"(?<![\w%.]){name}\b(?!\s*[(\[])", argument, re.IGNORECASE)
    return whole is not None or bool(compares(argument))


def _is_number(kind: Any) -> bool:
    kind = kind.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_PTR):
        kind = kind.target().strip_typedefs()
    return kind.code in (
        *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR),
        *(gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_COMPLEX),
    )


def alone(name: str, argument: str) -> Any:
    """The value of one predicate."""
    _begin()
    return _evaluated(name, argument)


def _evaluated(name: str, argument: str) -> Any:
    fold, wrapped = FOLDS[name]
    if (inner := next(iter(_calls(argument)), None)) is not None:
        raise gdb.error(f"A predicate cannot stand in another one: {argument[inner.start :]}.")
    argument, mask, flat = _arguments(name, argument)
    plan = planned(fold, wrapped.format(f"({argument})"), mask)
    if flat and len(plan.arrays[0].extents if plan.arrays else ()) > 1:
        raise gdb.error(
            f"{name} with dim= of an array of several dimensions is an array: leave dim= out, or "
            "name a section of one dimension, a(:, 3)."
        )
    plan.flat = flat or name.startswith("arg")
    found, number, nodes = _of_plan(plan)
    _read.extend(array.span for array in plan.arrays if not array.nodes)
    if plan.fold not in (_COUNT, _SUM, _CHECKSUM) and number is not None:
        _last.deciding += [(one, number, nodes[place]) for place, one in enumerate(plan.arrays)]
    return _in_gdb(plan, found)


KEYWORD = re.compile(r"(?:^|(?<=,))\s*(array|mask|dim|kind|back)\s*=(?!=)\s*", re.IGNORECASE)


def _arguments(name: str, text: str) -> tuple[str, str, bool]:
    """The array's expression, the mask's, and is `dim` given, of a call of NAME.

    Fortran: `maxval(array, dim, mask)` and `maxval(array, mask)`; `all(mask, dim)`; `kind` changes
    nothing here.
    """
    numbers = given(text)
    if cpython.running() is not None or elements.language("") != "fortran":
        if len(numbers) > 1:
            raise gdb.error(f"{name} takes one argument here: write {name}({numbers[0]}).")
        return text, "", False
    of_truths = FOLDS[name][0] in (_ALL, _ANY, _COUNT)
    places = ["mask", "dim"] if of_truths else ["array", "dim", "mask"]
    named: dict[str, str] = {}
    for place, one in enumerate(numbers):
        keyword = KEYWORD.match(one)
        if keyword is not None:
            named[keyword[1].lower()] = one[keyword.end() :]
        elif place == 1 and not of_truths and not _is_dimension(one):
            named["mask"] = one  # maxval(array, mask)
        elif place < len(places):
            named[places[place]] = one
        else:
            raise gdb.error(f"{name} takes fewer arguments here.")
    if "back" in named:
        raise gdb.error(f"{name} finds the first one here: leave back= out.")
    whole, mask = ("mask", "") if of_truths else ("array", named.get("mask", ""))
    return named.get(whole, ""), mask, "dim" in named


def _is_dimension(text: str) -> bool:
    """Is it a number: DIM, and not MASK?"""
    if compares(text):
        return False
    try:
        kind = symbols.evaluated(text).type.strip_typedefs()
    except gdb.error:
        return False
    return bool(kind.code == gdb.TYPE_CODE_INT)


def _of_plan(plan: Plan) -> tuple[float | int, int | None, list[int]]:
    _last.folds.append(plan)
    try:
        return plan.run()
    except gdb.MemoryError:
        _last.refused = True
        raise


def _in_gdb(plan: Plan, found: float | int) -> Any:
    if plan.type is not None:
        return scalars.of_type(found, plan.type)
    if plan.fold in _TRUTHS:
        return gdb.Value(bool(found))
    if plan.fold in (_WHERE_MAX, _WHERE_MIN):
        return _indices(plan, int(found))
    if (plan.fold not in (_COUNT, _CHECKSUM) and plan.is_real) or abs(found) == math.inf:
        return gdb.Value(float(found))
    whole = int(found)
    if -(2**63) <= whole < 2**63:
        return gdb.Value(whole)
    if not 0 <= whole < 2**64:
        return gdb.Value(float(found))
    return gdb.Value(whole.to_bytes(8, "little"), gdb.lookup_type("unsigned long"))


def _indices(plan: Plan, number: int) -> Any:
    """An element's place: of one dimension a number, of several an array, as the language counts
    (Fortran from 1, whatever the bounds are)."""
    array = plan.arrays[0]
    fortran = array.spoken == "fortran"
    if plan.flat or len(array.extents) == 1 or number < 0:
        return gdb.Value(number + fortran)
    found = []
    for extent in array.extents:
        found.append(number % extent + fortran)
        number //= extent
    found = found if fortran else found[::-1]
    kind = gdb.lookup_type("int").array(0, len(found) - 1)
    return gdb.Value(b"".join(one.to_bytes(4, "little") for one in found), kind)


def _element(array: Array, number: int, node: int) -> str:
    name = array.name(number, node)
    try:
        return f"{name} = {array.shown(number, node)}"
    except gdb.error:
        return name
