"""Comparisons of the program's strings with a literal.

`p->name == "p3"` compares the characters.  To GDB a longer array is different, and of a pointer it
would compare the address with that of a copy, for which it calls the program's malloc.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import gdb

from . import elements, symbols
from .functions import function
from .lookups import is_own, seen

SAME, SAME_TWO, TRIM = "$_rdb_same_text", "$_rdb_same_texts", "$_rdb_trim"
DEFERRED = "$_rdb_deferred_text"
_QUOTES = ("'", '"')
_NAME = r"(?<![\w$.>:%])[A-Za-z_$][\w$:]*"
_TERM_OF_C = rf"(?:\*\s*)?{_NAME}(?:\s*(?:\.|->)\s*\w+|\s*\[[^\[\]]*\]|\([^()]*\))*"
_INSIDE = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # parentheses, two deep
_TERM_OF_FORTRAN = rf"{_NAME}(?:\s*%\s*\w+|\s*\({_INSIDE}\))*"
_IN_C = re.compile(
    rf"(?P<a>{_TERM_OF_C})\s*(?P<sign>[=!]=)\s*(?P<text>\"(?:\\.|[^\"\\])*\")"
    rf"|(?P<text2>\"(?:\\.|[^\"\\])*\")\s*(?P<sign2>[=!]=)\s*(?P<a2>{_TERM_OF_C})"
)
_SIGN = r"==|/=|!=|\.eq\.|\.ne\."
_TEXT = r"'(?:''|[^'])*'|\"[^\"]*\""
_IN_FORTRAN = re.compile(
    rf"(?P<a>{_TERM_OF_FORTRAN})\s*(?P<sign>{_SIGN})\s*(?P<text>{_TEXT})"
    rf"|(?P<text2>{_TEXT})\s*(?P<sign2>{_SIGN})\s*(?P<a2>{_TERM_OF_FORTRAN})"
    rf"|(?P<a3>{_TERM_OF_FORTRAN})\s*(?P<sign3>{_SIGN})\s*(?P<text3>{_TERM_OF_FORTRAN})",
    re.IGNORECASE,
)
_TRIM = re.compile(rf"(?<![\w$%])trim\s*\(\s*({_TERM_OF_FORTRAN}|{_TEXT})\s*\)", re.IGNORECASE)
_GIVEN = re.compile(rf"\$_rdb_(?:same_texts?|trim)\((?P<of>(?:[^(),'\"]|\({_INSIDE}\))+)")
_LENGTH_MAX = 1 << 20  # GDB crashes if it cannot allocate the memory
_STD = (
    *(("_M_dataplus._M_p", "_M_string_length"), ("_M_str", "_M_len")),
    # Rust's String, in two versions, and &str.
    *(("vec.buf.inner.ptr.pointer.pointer", "vec.len"), ("vec.buf.ptr.pointer.pointer", "vec.len")),
    ("data_ptr", "length"),
)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def for_gdb(expression: str) -> str:
    spoken = elements.language("")
    way = {"c": _IN_C, "c++": _IN_C, "rust": _IN_C, "fortran": _IN_FORTRAN}.get(spoken)
    trims = spoken == "fortran" and _TRIM.search(expression) and not _is_own("trim")
    if way is None or not (trims or DEFERRED in expression or re.search("[\"']", expression)):
        return expression

    def call(found: re.Match[str]) -> str:
        named = found.groupdict()
        one, sign, text = (
            named[part] or named[f"{part}2"] or named[f"{part}3"] for part in ("a", "sign", "text")
        )
        if spoken == "fortran":
            plain = _untrimmed(one), _untrimmed(text)
            if named.get("a3") and plain == (one, text) and DEFERRED not in found[0]:
                return found[0]  # GDB compares numbers, and the program's own texts
            one, text = reversed(plain) if plain[0][0] in _QUOTES else plain
        if text[0] == '"' and spoken == "fortran":  # GDB does not know this quote in Fortran
            text = "'" + text[1:-1].replace("'", "''") + "'"
        if text == "''":  # nor an empty text
            text = "' '"
        if spoken == "rust":  # GDB would write a literal to the program's memory
            return f"{'!' * (sign[0] == '!')}{SAME}({one}, {_kept(text)})"
        same = f"{SAME if text[0] in _QUOTES else SAME_TWO}({one}, {text})"
        if sign.lower() in ("==", ".eq."):
            return same
        return f"(.not. {same})" if spoken == "fortran" else f"(!{same})"

    expression = way.sub(call, expression)
    return _TRIM.sub(rf"{TRIM}(\1)", expression) if trims else expression


def _kept(literal: str) -> str:
    """A convenience variable for a literal."""
    name = f"_rdb_literal_{zlib.crc32(literal.encode()):x}"
    gdb.set_convenience_variable(name, re.sub(r"\\(.)", r"\1", literal[1:-1]))
    return f"${name}"


def need_values(text: str) -> None:
    """Raises gdb.error if a text that is compared is optimized out: to pass it to a function GDB
    would call the program's malloc."""
    for found in _GIVEN.finditer(text):
        try:
            value = symbols.evaluated(found["of"])
        except gdb.error:
            continue  # GDB reports that
        _need(value)


def _need(value: Any) -> None:
    if value.is_optimized_out:
        raise gdb.error("value has been optimized out")


def _untrimmed(term: str) -> str:
    """The operand of `trim`: blanks at the end do not count."""
    found = _TRIM.fullmatch(term)
    return term if found is None else found[1]


def _is_own(name: str) -> bool:
    symbol = seen(name)
    return symbol is not None and is_own(symbol)


def text_of(value: Any) -> str | None:
    """The text of a literal; None: it is none.  Reading its address would call malloc."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRING:
        shown = str(value.format_string(max_elements=0, repeat_threshold=0))
        return re.sub(r"\\(.)", r"\1", shown[1:-1])
    if kind.code != gdb.TYPE_CODE_ARRAY or kind.target().strip_typedefs().sizeof != 1:
        return None
    return str(value.string())


@function("_rdb_same_text")
def _same_text(value: Any, literal: Any) -> Any:
    """Is this text the one that is written there?  Blanks at the end do not count in Fortran."""
    return _same(value, (text_of(literal) or "").encode())


@function("_rdb_same_texts")
def _same_texts(value: Any, other: Any) -> Any:
    """Are these texts of the program the same?"""
    return _same(value, _said(other))


@function("_rdb_trim")
def _trimmed(value: Any) -> Any:
    """The text without the blanks at its end."""
    said = _said(value).rstrip(b" ")
    kind = value.type.strip_typedefs()
    kind = kind.target() if kind.code in (*_REFERENCES, gdb.TYPE_CODE_PTR) else kind
    return gdb.Value(said, kind.target().array(1, len(said)))


def length(value: Any) -> int:
    """Of a text of Fortran, or of each of an array."""
    kind = value.type.strip_typedefs()
    while kind.code == gdb.TYPE_CODE_ARRAY and kind.target().strip_typedefs().sizeof != 1:
        value = value[kind.range()[0]]
        kind = value.type.strip_typedefs()
    return len(_said(value))


def length_trimmed(value: Any) -> int:
    return len(_said(value).rstrip(b" "))


def has_no_length(kind: Any) -> bool:
    """Is it a pointer to a text whose length the debug information does not tell?"""
    kind = kind.strip_typedefs()
    of = kind.target().strip_typedefs() if kind.code == gdb.TYPE_CODE_PTR else None
    if of is None or of.code != gdb.TYPE_CODE_STRING or of.sizeof:
        return False
    return not of.dynamic  # else GDB finds the length with the value


@function("_rdb_deferred_text")
def _deferred_text(value: Any, length: Any) -> Any:
    """A text of deferred length."""
    if not int(value):
        raise gdb.GdbError("the text is not allocated or not associated")
    of = value.type.strip_typedefs().target().strip_typedefs().target()
    return value.cast(of.array(1, int(length)).pointer()).dereference()


def _same(value: Any, wanted: bytes) -> Any:
    said = _said(value)
    if elements.language("") == "fortran":
        said, wanted = said.rstrip(b" "), wanted.rstrip(b" ")
    return gdb.Value(said == wanted)


def _said(value: Any) -> bytes:
    try:
        return bytes_of(value)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None


def is_of_libcxx(kind: Any) -> bool:
    return re.match(r"std::__1::basic_string<char,", kind.name or "") is not None


def bytes_of(value: Any) -> bytes:
    """The characters of a string.  Raises gdb.error for another value."""
    kind = value.type.strip_typedefs()
    _need(value)
    if is_of_libcxx(kind):
        raw = _read(int(value.address), 24)
        if not raw[0] & 1:
            return raw[1 : 1 + raw[0] // 2]
        # A long string: capacity, length, pointer.
        return _read(*(int.from_bytes(raw[n : n + 8], "little") for n in (16, 8)))
    if kind.code in _REFERENCES:
        return bytes_of(value.referenced_value())
    if kind.code == gdb.TYPE_CODE_PTR:
        of = kind.target().strip_typedefs()
        if of.code != gdb.TYPE_CODE_STRING and of.sizeof == 1:
            return str(value.string("latin-1")).encode("latin-1")
        if has_no_length(kind):
            raise gdb.error("The length of the text is not known here.")
        return bytes_of(value.dereference())
    if kind.code == gdb.TYPE_CODE_STRING:
        return _read(int(value.address), kind.sizeof)
    if kind.code == gdb.TYPE_CODE_ARRAY and kind.target().strip_typedefs().sizeof == 1:
        found = _read(int(value.address), kind.sizeof)
        return found if elements.language("") == "fortran" else found.partition(b"\0")[0]
    for start, length in _STD:
        first, count = elements.inner(value, start), elements.inner(value, length)
        if first is not None and count is not None:
            return _read(int(first), int(count))
    held, count = elements.inner(value, "_M_dataplus"), elements.inner(value, "_M_string_length")
    if held is not None and count is not None and "std::allocator<char>" in str(kind):
        # clang leaves out the type of the pointer's holder, which has nothing else.
        return _read(int.from_bytes(_read(int(held.address), 8), "little"), int(count))
    raise gdb.error(f"A value of type {value.type} is not a string.")


def _read(address: int, length: int) -> bytes:
    if length > _LENGTH_MAX:
        raise gdb.error(f"A string of {length} bytes is too long to be compared.")
    return bytes(gdb.selected_inferior().read_memory(address, length)) if length else b""
