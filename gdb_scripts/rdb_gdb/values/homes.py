"""Functions of the program that have a local of some name, or whose object has such a member,
whether they run or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import gdb

from . import examined, symbols
from .blocks import function_block
from .lookups import plain_name, short
from .nowhere import kept_nowhere
from .own_frames import units_with

_BLOCK = re.compile(r"^ *block #\d+, .* in (0x[0-9a-f]+)\.\.(0x[0-9a-f]+)", re.MULTILINE)
_UNITS_MAX = 16
_SHOWN = 3
_ADDRESS = re.compile(r"\baddress (0x[0-9a-f]+)")
_CALLS = re.compile(r"(?:notrack |bnd |data16 |rex\S* )*call|syscall|sysenter|int\s")
_WRITABLE = re.compile(r"(?:\A|::)((?:\w+::)*\w+)\Z")  # not `{impl#0}`, `module.submodule`
_FOLDS_CASE = re.compile(r"\.f\w*\Z", re.IGNORECASE)


class Home(NamedTuple):
    """A function with such a local."""

    function: str
    file: str
    line: int
    of: str  # the class of which it is a member; empty: a local
    lost: bool  # optimized out everywhere
    calls: bool  # may it be on the stack at an event?


_known: dict[tuple[str, str], list[Home]] = {}


def homes(name: str) -> list[Home]:
    """Those of the program's own code, as far as up to 16 source files have them.

    NAME may be CLASS::MEMBER.
    """
    of, _, member = name.rpartition("::")
    if of:
        return [one for one in homes(member) if one.of and _is_called(one.of, of)]
    key = (symbols.program(), name)
    if key not in _known:
        _known[key] = sorted(_found(name), key=lambda one: (one.of, one.file, one.line))
    return _known[key]


def is_of_this(name: str, block: Any) -> bool:
    """Is it CLASS::MEMBER, of the class whose member function has the block, or of a base of it?"""
    of, _, member = name.rpartition("::") if symbols.language() == "c++" else ("", "", "")
    this = symbols.find("this", block)[0] if of and block is not None else None
    kinds = [] if this is None else [this.type.strip_typedefs().target()]
    while kinds:
        kind = kinds.pop().unqualified().strip_typedefs()
        if _is_called(_class_with(member, kind.pointer()), of):
            return True
        kinds += [one.type for one in kind.fields() if one.is_base_class]
    return False


def class_with(name: str, block: Any) -> str:
    """The class whose objects have the member, if NAME is CLASS::MEMBER; else empty."""
    of, _, member = name.rpartition("::") if symbols.language() == "c++" else ("", "", "")
    try:
        return _class_with(member, gdb.lookup_type(of, block).pointer()) if of and block else ""
    except gdb.error:
        return ""  # there is no such class


def _is_called(class_: str, name: str) -> bool:
    return re.fullmatch(rf"(?:.*::)?{re.escape(name)}(?:<.*>)?", class_) is not None


def _found(name: str) -> list[Home]:
    found: dict[tuple[str, str, int, str], Home] = {}
    for unit in units_with(name)[:_UNITS_MAX]:
        places = _starts(unit)
        for one in (one for place in places for one in _of_unit(name, place)):
            known = found.get(one[:4], one)
            found[one[:4]] = one._replace(
                lost=one.lost and known.lost, calls=one.calls or known.calls
            )
    return list(found.values())


def _starts(unit: str) -> list[int]:
    """Addresses of the first line of a source file that has code, in each unit."""
    with suppress(gdb.error):  # from GDB 14 on it knows no line before the first function
        return [one.pc for one in gdb.decode_line(f"'{unit}':1")[1] or ()]
    with suppress(gdb.error):  # none of its lines has code
        said = examined.said(f"info line '{unit}':1")
        return [int(one, 16) for one in _ADDRESS.findall(said)]
    return []


def _of_unit(name: str, pc: int) -> Iterator[Home]:
    """Those of the compilation unit with the code at PC."""
    said = _BLOCK.split(gdb.execute(f"maint print symbols -pc {pc:#x}", to_string=True))
    word = re.compile(rf"\b{re.escape(name)}\b|\bthis;", re.IGNORECASE)
    for start, end, text in zip(said[1::3], said[2::3], said[3::3]):
        if word.search(text) is None:
            continue
        block: Any = gdb.block_for_pc(int(start, 16))
        while block is not None and not (block.is_static or block.is_global):
            mine = (block.start, block.end) == (int(start, 16), int(end, 16))
            found = _local(name, block) if mine else None
            around = function_block(block)
            block = block.superblock
            written = _WRITABLE.search(plain_name(around.function))
            if found is not None and written is not None:
                yield Home(written[1], *found, _has_calls(around))


def _local(name: str, block: Any) -> tuple[str, int, str, bool] | None:
    """File, line and class of the block's local, or of the member of its object, of that name, and
    whether it is optimized out everywhere; None: it has none."""
    for one in block:
        if not (one.is_variable or one.is_argument):
            continue
        file = short(one.symtab.filename)
        if one.name == (name.lower() if _FOLDS_CASE.search(file) else name) and one.line:
            return file, one.line, "", kept_nowhere(one)
        if one.name == "this" and (of := _class_with(name, one.type)):
            return file, block.function.line if block.function else 0, of, kept_nowhere(one)
    return None


def _class_with(name: str, pointer: Any) -> str:
    """The class of `this`, if that or a base of it has such a member; else empty."""
    kind = pointer.strip_typedefs()
    of = kind.target().unqualified() if kind.code == gdb.TYPE_CODE_PTR else kind
    key = str(of.name)
    if key not in _members:
        _members[key] = frozenset(_all_members(of))
    return key if name in _members[key] else ""


_members: dict[str, frozenset[str]] = {}


def _all_members(kind: Any) -> Iterator[str]:
    for one in kind.fields() if kind.code == gdb.TYPE_CODE_STRUCT else ():
        if one.is_base_class:
            yield from _all_members(one.type.strip_typedefs())
        else:
            yield str(one.name)


def _has_calls(block: Any) -> bool:
    """Has the code of the function, or of its inlined copy, a call or a system call?"""
    code = gdb.selected_inferior().architecture().disassemble(block.start, block.end - 1)
    return any(_CALLS.match(one["asm"]) for one in code)


def told(name: str, found: list[Home], search: bool) -> str:
    """A text: `vol is a local of CalcEnergy (hydro.cc:88)`, and what to do."""
    name = name.rpartition("::")[2]
    shown = [one for one in found if not one.lost] or found
    kind = "a member" if shown[0].of else "a local"
    of = [f"of {one.of or f'{one.function} ({one.file}:{one.line})'}" for one in shown]
    of = list(dict.fromkeys(of))
    more = f" and {len(of) - _SHOWN} more" if len(of) > _SHOWN else ""
    text = f"{name} is {kind} {' and '.join(of[:_SHOWN])}{more}"
    if shown[0].lost:
        return f"{text}, optimized out everywhere"
    if not search:
        return f"{text}, not in scope here"
    if shown[0].of and not any(one.calls for one in shown):
        return f"{text}, whose functions run at no event; name an object of it"
    of_objects = [one for one in shown if one.calls and one.of] or shown
    other = re.compile(r"(?!(?:.*::)?(\w+)::~?\1\Z)")  # than constructors and destructors
    best = next((one for one in of_objects if other.match(one.function)), of_objects[0])
    return f"{text}; write {best.function}::{name}"
