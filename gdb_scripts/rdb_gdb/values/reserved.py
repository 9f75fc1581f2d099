"""Fortran's variables and components whose names GDB takes for something else.

These are words of its own (`rank`, `size`) and types: GDB looks for a type of that name first, also
in libraries of C (`list`, `node`).  It says *A syntax error in expression*, or answers for the
type.  So `size + grid%rank` becomes a sum of two
`(*$_rdb_word_ADDRESS)`, or `$_rdb_named('size') + $_rdb_part(grid, 'rank')` where they have no
address.  A function has no type after an `.and.` that GDB need not evaluate; a pointer has.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import gdb

from . import elements
from .functions import function

_WORDS = (
    *("abs", "allocated", "associated", "ceiling", "cmplx", "floor", "kind", "lbound", "loc"),
    *("mod", "modulo", "rank", "shape", "size", "sizeof", "ubound"),
    *("character", "complex", "double", "integer", "logical", "precision", "real", "single"),
)
_WORD = rf"(?:{'|'.join(_WORDS)})\b"
_ANY = re.compile(rf"\b{_WORD}", re.IGNORECASE)
_BEGINS = r"(?<![\w$>:%'])(?<!(?<![A-Za-z])\.)(?<!%\s)"  # also behind `.and.`
_TEXT = r"'(?:''|[^'])*'|\"[^\"]*\""
_INSIDE = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # parentheses, two deep
_INDEX = rf"(?P<index>\s*\({_INSIDE}\))?"
_PART = re.compile(
    rf"{_TEXT}|(?P<of>(?:(?<![\w$.>:%])[A-Za-z_$][\w$:]*|\(\*[\w$()]+\))"
    rf"(?:\s*%\s*(?!{_WORD})\w+|\s*\({_INSIDE}\))*)\s*%\s*(?P<part>{_WORD}){_INDEX}",
    re.IGNORECASE,
)
_NAME = re.compile(rf"{_TEXT}|{_BEGINS}(?P<name>[A-Za-z_]\w*)(?!\w|\s*::)")
_CALLED = re.compile(
    rf"(\(\*\$_rdb_at_\d+\)|\$_rdb_(?:bound|object)\({_INSIDE}\))((?:\s*%\s*\w+|\s*\({_INSIDE}\))+)"
)
_CHOOSES = re.compile(r"\.(?:and|or)\.|&&|\|\|", re.IGNORECASE)
_WRITTEN = re.compile(r"\$_rdb_named\('(\w+)'\)")
_AT = re.compile(r"\(\*\$_rdb_word_(\w+)\)")
_WRITTEN_PART = re.compile(rf"\$_rdb_part\(({_INSIDE}), '(\w+)'\)")
_LEADS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF)


def for_gdb(text: str) -> str:
    chooses = _CHOOSES.search(text) is not None
    if not (chooses or is_in(text)) or elements.language("") != "fortran":
        return text
    text = _named_so((*_WORDS, *sorted(_types(text, _block())))).sub(_named, text)
    before = ""
    while text != before:
        before, text = text, _PART.sub(_part_of, text)
    return _CALLED.sub(lambda found: _placed(found[1], found[2]), text) if chooses else text


def is_in(text: str, anywhere: bool = False) -> bool:
    """Has TEXT such a name?  ANYWHERE: in any frame, not only in the selected one."""
    return _ANY.search(text) is not None or bool(_types(text, None if anywhere else _block()))


@lru_cache(64)
def _named_so(names: tuple[str, ...]) -> re.Pattern[str]:
    name = rf"{_BEGINS}(?P<name>(?:{'|'.join(names)})\b)"
    return re.compile(rf"{_TEXT}|{name}(?!\s*::){_INDEX}", re.IGNORECASE)


def _types(text: str, block: Any) -> set[str]:
    """The names in TEXT that GDB takes for types."""
    names = {found["name"].lower() for found in _NAME.finditer(text) if found["name"]}
    return {name for name in names if _is_type(name, block)}


def _is_type(name: str, block: Any) -> bool:
    types = getattr(gdb, "SYMBOL_TYPE_DOMAIN", gdb.SYMBOL_STRUCT_DOMAIN)  # of typedefs from GDB 15
    domains = (gdb.SYMBOL_STRUCT_DOMAIN, types, gdb.SYMBOL_VAR_DOMAIN)
    if block is None:
        finds = (gdb.lookup_static_symbol, gdb.lookup_global_symbol)
        found = [find(name, domain) for find in finds for domain in domains]
    else:
        found = [gdb.lookup_symbol(name, block, domain)[0] for domain in domains]
    first = next((symbol for symbol in found if symbol is not None), None)
    return first is not None and first.addr_class == gdb.SYMBOL_LOC_TYPEDEF


def _block() -> Any:
    try:
        return gdb.selected_frame().block()
    except (gdb.error, RuntimeError):
        return None  # no frame, or no debug information


def as_written(text: str) -> str:
    """TEXT without what `for_gdb` has added."""
    count = 1
    while count:
        text, count = _AT.subn(lambda found: _written.get(found[1], found[0]), text)
    text, count = _WRITTEN.sub(r"\1", text), 1
    while count:
        text, count = _WRITTEN_PART.subn(r"\1%\2", text)
    return text


def _named(found: re.Match[str]) -> str:
    name, index = found["name"], found["index"]
    if not name:
        return found[0]
    symbol = _variable(name)
    is_array = symbol is not None and symbol.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY
    if symbol is None or (index and name.lower() in _WORDS and not is_array):
        return name + for_gdb(index or "")  # GDB's function
    return _placed(f"$_rdb_named('{symbol.name}')", index)


def _part_of(found: re.Match[str]) -> str:
    part = found["part"]
    if not part:
        return found[0]
    return _placed(f"$_rdb_part({found['of']}, '{part.lower()}')", found["index"])


_written: dict[str, str] = {}


def _placed(call: str, index: str | None) -> str:
    """The memory that CALL means here; CALL if it has no place in memory."""
    if index:
        call += for_gdb(index)
    try:
        value = gdb.parse_and_eval(call)
        if value.address is None:
            return call
        name = re.sub(r"\W", "_", f"{int(value.address):x}_{value.type}")
        gdb.set_convenience_variable(f"_rdb_word_{name}", value.address)
    except gdb.error:
        return call
    _written[name] = as_written(call)
    return f"(*$_rdb_word_{name})"


def _variable(name: str) -> Any:
    """The variable of that name in the selected frame; None: there is none."""
    block = _block()
    while block is not None and not block.is_static:  # GDB itself leaves out the host's module
        symbol = gdb.lookup_symbol(name.lower(), block)[0]
        if symbol is not None and (symbol.is_variable or symbol.is_argument):
            return symbol
        block = block.superblock
    return None


@function("_rdb_named")
def _value(name: Any) -> Any:
    """The value of the variable of that name."""
    symbol = _variable(_text(name))
    if symbol is None:
        raise gdb.GdbError(f'No symbol "{_text(name)}" in current context.')
    if not symbol.needs_frame:
        return symbol.value()
    frame = gdb.selected_frame()  # by its name GDB also finds the variable of the host procedure
    return frame.read_var(symbol.name, frame.block())


@function("_rdb_part")
def _part(value: Any, name: Any) -> Any:
    """The component of that name."""
    while value.type.strip_typedefs().code in _LEADS:
        value = value.referenced_value()
    return value[_text(name)]


def _text(literal: Any) -> str:
    return str(literal.format_string(max_elements=0, repeat_threshold=0)).strip("'")
