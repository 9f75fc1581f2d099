"""Members of Fortran types: inherited ones, those of `class(...)` variables, texts.

The program writes `a%val`; the compiler has put it into `a%csr_t%val` or `a%_data%csr_t%val`.
Where only the type of the object has the member, and not that of the `class(...)` variable, GDB
has to look: `$_rdb_object(a, 'val')%val`.
A text of deferred length is a pointer to GDB; the compiler keeps its length in `a%_val_length`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import gdb

from . import absent, elements, reserved, texts
from .functions import function

if TYPE_CHECKING:
    from .variables import Variable

_MEMBER = re.compile(r"\s*%\s*(\w+)")
_WRAPPED = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_ARRAY)
_OF_CLASS = "_data"
_OBJECT = "$_rdb_object"
_LOOKED_AT = re.compile(re.escape(_OBJECT) + r"\(((?:(?!\$_rdb_object\().)*?), '\w+'\)")
_VTAB = re.compile(r"(?:__(\w+)_MOD_)?__vtab_(\w+)")


def in_full(text: str, variables: list[Variable], names: Iterable[tuple[int, int, str]]) -> str:
    """TEXT with the full path of each member.  NAMES: those of its variables (words.names)."""
    if elements.language("") != "fortran" or "%" not in text:
        return text
    types = {one.name: one.symbol.type for one in variables if one.symbol is not None}
    return _in_full(text, types, names)


def as_written(text: str) -> str:
    """TEXT without what `in_full` has added: no name of the program begins with an underscore."""
    if elements.language("") != "fortran":
        return text
    text, count = reserved.as_written(text), 1
    while count:
        text, count = _LOOKED_AT.subn(r"\1", text)
    return re.sub(rf"%{_OF_CLASS}\b", "", text)


def term(plain: str, start: int, name: str, rest: str) -> re.Match[str] | None:
    """The NAME that is at START and what belongs to it, in a text that `in_full` has changed, with
    blanks for its strings.  REST: a pattern for members and indices."""
    opening = re.compile(rf"(?:{re.escape(_OBJECT)}\()*\Z").search(plain, 0, start)
    assert opening is not None
    text = rf"{re.escape(opening[0] + name)}{rest}(?:,\s*\){rest})*"
    return re.compile(text).match(plain, opening.start())


def in_full_at(text: str, block: Any, names: Iterable[tuple[int, int, str]]) -> str:
    """The same with the variables of a block.  In other languages it changes nothing."""
    found = {name: gdb.lookup_symbol(name, block)[0] for _, _, name in names}
    types = {name: one.type for name, one in found.items() if one is not None}
    return _in_full(text, types, names)


def _in_full(text: str, types: dict[str, Any], names: Iterable[tuple[int, int, str]]) -> str:
    added: list[tuple[int, str]] = []
    lengths: list[tuple[int, int, int, str]] = []
    for start, end, name in names:
        kind = types.get(name)
        looks = False
        while kind is not None or looks:
            end = _behind_indices(text, end)
            member = _MEMBER.match(text, end)
            if member is None:
                break
            struct = None if kind is None else _struct(kind)
            between, kind, length = _way(struct, member[1].lower())
            looks = looks or (kind is None and _of_class(struct))
            if looks:
                added += [(start, f"{_OBJECT}("), (end, f", '{member[1].lower()}')")]
                kind, end = None, member.end()
                continue
            added.append((end, "".join(f"%{one}" for one in between)))
            if length:
                lengths.append((start, end, member.end(), length))
            end = member.end()
    texts_of = [
        (at, one)
        for start, end, behind, length in lengths
        for at, one in (
            (start, f"{texts.DEFERRED}("),
            (behind, f", {_with(added, text, start, end)}%{length})"),
        )
    ]
    return _with(texts_of + added, text, 0, len(text))


def _with(added: list[tuple[int, str]], text: str, start: int, end: int) -> str:
    """TEXT from START to END, with what is added there."""
    result, done = "", start
    for at, one in sorted(added, key=lambda each: each[0]):
        if start <= at <= end:
            result, done = result + text[done:at] + one, at
    return result + text[done:end]


def _of_class(struct: Any) -> bool:
    return struct is not None and any(one.name == "_vptr" for one in struct.fields())


@function("_rdb_object")
def _object(value: Any, name: Any) -> Any:
    """$_rdb_object(a, 'val'): the object that a is, or leads to, as the type which has val."""
    while value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        value = value.referenced_value()
    if _of_class(value.type.strip_typedefs()):
        said = absent.of(value)
        if said:
            raise gdb.GdbError(said)
        value = value[_OF_CLASS].cast(_type_of(value["_vptr"]).pointer()).dereference()
    wanted = str(texts.text_of(name))
    kind = of = value.type.strip_typedefs()
    while kind.code == gdb.TYPE_CODE_STRUCT and wanted not in (one.name for one in kind.fields()):
        parent = next(iter(kind.fields()), None)
        if parent is None or parent.name != str(parent.type.strip_typedefs().name).lower():
            raise gdb.GdbError(f"There is no member named {wanted} in {of.name}.")
        value, kind = value[parent.name], parent.type.strip_typedefs()
    return value


def _type_of(vptr: Any) -> Any:
    """The type whose table of procedures that is (gfortran's `__vtab_MODULE_Type`)."""
    symbol = gdb.execute(f"info symbol {int(vptr):#x}", to_string=True)
    found = _VTAB.match(symbol)
    if found is None:
        raise gdb.GdbError("the type of the object is not known")
    frame: Any = gdb.selected_frame()
    # in the module or, for types with procedures, outside; from GDB 14 on without the word struct
    for name in (f"{found[1]}::__vtype_{found[2]}", f"__vtype_{found[2]}"):
        for word in ("struct ", ""):
            try:
                table: Any = gdb.lookup_type(word + name, frame.block())
            except gdb.error:
                continue
            return next(one.type.target() for one in table.fields() if one.name == "_def_init")
    raise gdb.GdbError(f"the type of the object, {found[2]}, is not in the debug information")


def _behind_indices(text: str, end: int) -> int:
    opening = re.compile(r"\s*\(").match(text, end)
    if opening is None:
        return end
    depth, place = 1, opening.end()
    while place < len(text) and depth:
        depth += (text[place] == "(") - (text[place] == ")")
        place += 1
    return place


def _struct(kind: Any) -> Any:
    kind = kind.strip_typedefs()
    while kind.code in _WRAPPED:
        kind = kind.target().strip_typedefs()
    return kind if kind.code == gdb.TYPE_CODE_STRUCT else None


def _way(kind: Any, name: str) -> tuple[list[str], Any, str]:
    """The components that lead to a member, and its type; type None: there is no such member.
    Then the component with its length, if it is a text of deferred length."""
    between: list[str] = []
    while kind is not None:
        fields = {str(one.name): one.type for one in kind.fields()}
        if name in fields:
            length = f"_{name}_length"
            deferred = length in fields and texts.has_no_length(fields[name])
            return between, fields[name], length if deferred else ""
        inner = _OF_CLASS if _OF_CLASS in fields else next(iter(fields), "")
        kind = _struct(fields[inner]) if inner else None
        if inner != _OF_CLASS and kind is not None and str(kind.name).lower() != inner:
            break  # no parent component: that has the name of its type
        between.append(inner)
    return [], None, ""
