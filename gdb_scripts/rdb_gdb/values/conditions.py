"""Whether a text asks something of the program: it is no constant, and stores nothing."""

from __future__ import annotations

import re

import gdb

from . import elements, predicates, symbols
from .own_frames import in_own_file, own_frames, own_symtab
from .quoting import TEXTS, Unreadable

_NUMBERS = re.compile(r"(?<![\w.$])(?:0[xX][\da-fA-F]+|\.?\d[\w.]*(?:(?<=[eEdD])[+-]\d+)?)")
# `*(int *) 0x10` (an asterisk without an operand before it), `{int} 0x10`, `((int *) 0x10)[1]`.
_READS = re.compile(r"(?:^|[-+/%&|^~!<>=?:(,]|\*\s)\s*\*|\{|\)\s*\[|->")
_NAME = re.compile(r"[A-Za-z_$]\w*")
# Operators that store.  In Rust `5--1` is 6; in Fortran `/=` compares, in Ada and Pascal `=`.
_ASSIGNS = r"(?<![=!<>])=(?!=)|<<=|>>="
_STORES = re.compile(rf"{_ASSIGNS}|\+\+|--")
_STORES_IN = {
    "rust": re.compile(_ASSIGNS),
    "fortran": re.compile(r"(?<![=!<>/])=(?!=)"),
    **dict.fromkeys(("ada", "pascal", "modula-2"), re.compile(r":=")),
}
# Words that are no names of variables.
_WORDS = (
    "sizeof alignof true false not and or xor eqv neqv mod nullptr null nil none "
    "bool char short int long signed unsigned float double size_t _bool"
)
_FIXED = frozenset(_WORDS.split())


class Constant(gdb.GdbError):
    """The expression is a constant."""


def need_condition(text: str) -> str:
    """Returns TEXT.  Raises Constant for a constant, which never changes, and Unreadable for an
    expression that stores to memory."""
    plain = TEXTS.sub(lambda found: " " * len(found[0]), text)
    for first, last in predicates.arguments(text):
        plain = plain[:first] + _named(plain[first:last]) + plain[last:]
    if _STORES_IN.get(_language(text), _STORES).search(plain):
        raise Unreadable(f"{text} stores to memory; to compare write x == 3.")
    if is_constant(text):
        raise Constant(f"{text} is a constant; name a variable that can change, as in x > 0.")
    return text


def _named(arguments: str) -> str:
    """ARGUMENTS of a predicate with a blank for the sign in `mask=`."""
    return predicates.KEYWORD.sub(lambda found: found[0].replace("=", " "), arguments)


def _language(text: str) -> str:
    """The language in which the program has the text, also inside of a library in C."""
    try:
        frame = gdb.selected_frame()
        if frame.level() or in_own_file(frame):
            return elements.language(text)
        own = own_frames()
    except gdb.error:
        return elements.language(text)  # there is no frame
    if own:
        return str(own[0].language())
    main = gdb.lookup_global_symbol("main")  # it has returned
    of_ada = main is not None and main.symtab.filename.lower().endswith(".adb")
    return "ada" if of_ada else elements.language(text)


def is_constant(text: str) -> bool:
    """Is it without names of the program, registers, functions and reads of addresses?"""
    plain = TEXTS.sub(" ", text)
    if _READS.search(plain):
        return False
    names = _NAME.findall(_NUMBERS.sub(" ", plain))
    return not any(name.lower() not in _FIXED and not _is_enumerator(name) for name in names)


def _is_enumerator(name: str) -> bool:
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        return False  # no frame: it may be a local
    # A library's enumerator is not meant.
    return symbol is not None and symbol.is_constant and own_symtab(symbol.symtab)
