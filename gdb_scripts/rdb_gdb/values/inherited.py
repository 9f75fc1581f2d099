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

from . import absent, elements, reserved, symbols, texts
from .functions import function

if TYPE_CHECKING:
    from .variables import Variable

_MEMBER = re.compile(r"\s*%\s*(\w+)")
_WRAPPED = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_ARRAY)
_OF_CLASS = "_data"
_OBJECT = "$_rdb_object"
_LOOKED_AT = re.compile(
    re.escape(_OBJECT) + r"\(((?:(?!\$_rdb_object\().)*?), '\w+'(?:, [^,]*?%_vptr)?\)"
)
_VTAB = re.compile(r"(?:__(\w+)_MOD_)?__vtab_(\w+)")


def in_full(text: str, variables: list[Variable], names: Iterable[tuple[int, int, str]]) -> str:
    """TEXT with the full path of each member.  NAMES: those of its variables (words.names)."""
    if elements.language("") != "fortran" or not ("%" in text or "(" in text):
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


def as_named(text: str, expression: str) -> str:
    """TEXT, which names elements of what EXPRESSION names, without parent components and signs for
    pointers that `in_full` and GDB have added."""
    if elements.language("") != "fortran":
        return text
    named = {one.lower() for one in _MEMBER.findall(expression)}

    def kept(member: re.Match[str]) -> str:
        return member[0] if member[1].lower() in named else ""

    return re.sub(r"\(\*(\w+)\)", r"\1", re.sub(r"%(\w+)", kept, text))


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
        looks, table = False, ""  # the latter: of the type of an array's elements
        while kind is not None or looks:
            struct = None if kind is None else _struct(kind)
            behind = _behind_indices(text, end)
            if behind > end and _array_of_class(struct):
                table = f", {_with(added, text, start, end)}%_vptr"
                added.append((end, f"%{_OF_CLASS}"))
                kind = _array_of_class(struct)
            end = behind
            member = _MEMBER.match(text, end)
            if member is None:
                break
            struct = None if kind is None else _struct(kind)
            between, kind, length = _way(struct, member[1].lower())
            looks = looks or (kind is None and (bool(table) or _of_class(struct)))
            if looks:
                named = member[1].lower()
                added += [(start, f"{_OBJECT}("), (end, f", '{named}'{table})")]
                if not _MEMBER.match(text, member.end()) and _is_text_here(
                    _with(added, text, start, end), named
                ):
                    lengths.append((start, end, member.end(), f"_{named}_length"))
                kind, end, table = None, member.end(), ""
                continue
            table = ""
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


def _array_of_class(struct: Any) -> Any:
    """The type of the elements' array of `class(...) :: a(:)`; None: it is none."""
    kind = struct[_OF_CLASS].type.strip_typedefs() if _of_class(struct) else None
    return kind if kind is not None and kind.code == gdb.TYPE_CODE_ARRAY else None


def _is_text_here(text: str, name: str) -> bool:
    """Has the object that TEXT means here a text of deferred length of that name?"""
    try:
        kind = symbols.evaluated(reserved.for_gdb(text)).type.strip_typedefs()
    except gdb.error:
        return False
    fields = {str(one.name): one.type for one in kind.fields()}
    return f"_{name}_length" in fields and texts.has_no_length(fields[name])


def _of_class(struct: Any) -> bool:
    return struct is not None and any(one.name == "_vptr" for one in struct.fields())


@function("_rdb_object")
def _object(value: Any, name: Any, table: Any = None) -> Any:
    """$_rdb_object(a, 'val'): the object that a is, or leads to, as the type which has val.

    TABLE: that of the procedures of its type, of an element of an array of `class(...)`.
    """
    if table is not None:
        value = value.address.cast(_type_of(table).pointer()).dereference()
    while value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        value = value.referenced_value()
    if _of_class(value.type.strip_typedefs()):
        said = absent.of(value)
        if said:
            raise gdb.GdbError(said)
        of_type, value = _type_of(value["_vptr"]), value[_OF_CLASS]
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            return _objects(value, of_type, str(texts.text_of(name)))
        value = value.cast(of_type.pointer()).dereference()
    wanted = str(texts.text_of(name))
    kind = of = value.type.strip_typedefs()
    while kind.code == gdb.TYPE_CODE_STRUCT and wanted not in (one.name for one in kind.fields()):
        parent = next(iter(kind.fields()), None)
        if parent is None or parent.name != str(parent.type.strip_typedefs().name).lower():
            raise gdb.GdbError(f"There is no member named {wanted} in {of.name}.")
        value, kind = value[parent.name], parent.type.strip_typedefs()
    return value


def _objects(value: Any, of: Any, name: str) -> Any:
    """An array of `class(...)` as an array of the type that its elements have."""
    if path_to(of, name) is None:
        raise gdb.GdbError(f"There is no member named {name} in {of.name}.")
    bounds, one, steps = elements.ranges(value.type)[0], value, []
    for low, high in bounds:
        steps.append(int(one[low + 1].address) - int(one[low].address) if high > low else None)
        one = one[low]
    kind = of
    for (low, high), step in zip(reversed(bounds), reversed(steps)):
        if step not in (None, kind.sizeof):
            raise gdb.GdbError("The elements do not lie side by side.")
        kind = kind.array(low, high)
    return one.address.cast(kind.pointer()).dereference()


def path_to(kind: Any, name: str) -> list[str] | None:
    """The parent components that lead to component NAME of a type; None: it has none of that
    name."""
    between, found, _ = _way(kind.strip_typedefs(), name)
    return None if found is None else between


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
