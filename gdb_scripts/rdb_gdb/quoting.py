"""Quotes around a whole argument mean what they mean in a shell: the text within.

So `bisect 'nxt < 5'` is the same here, in a script, in the console and in a shell.
"""

from __future__ import annotations

import re

import gdb

from . import symbols
from .own_frames import own_symtab

# One quoted text from end to end; '\'' is how a shell writes ' within '.
_WHOLE = re.compile(r"'(?:[^'\\]|'\\''|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
_NUMBERS = re.compile(r"(?<![\w.$])(?:0[xX][\da-fA-F]+|\.?\d[\w.]*(?:(?<=[eEdD])[+-]\d+)?)")
_NAME = re.compile(r"[A-Za-z_$]\w*")
# Words that name nothing that a program could change.
_WORDS = (
    "sizeof alignof true false not and or xor eqv neqv mod nullptr null nil none "
    "bool char short int long signed unsigned float double size_t _bool"
)
_FIXED = frozenset(_WORDS.split())


def unquoted(text: str) -> str:
    """TEXT without quotes around all of it, but for those with which GDB quotes a symbol's name."""
    text = text.strip()
    while _WHOLE.fullmatch(text) and not _names_a_symbol(text):
        if text[0] == "'":
            text = text[1:-1].replace("'\\''", "'").replace("\\'", "'").strip()
        else:
            text = re.sub(r'\\(["\\$`])', r"\1", text[1:-1]).strip()
    return text


def _names_a_symbol(text: str) -> bool:
    """`'counter.0'`: the name has to be quoted for GDB."""
    if text[0] != "'" or re.fullmatch(r"'\w*'", text):
        return False
    try:
        return bool(symbols.evaluated(f"&{text}").type.code == gdb.TYPE_CODE_PTR)
    except gdb.error:
        return False


class Constant(gdb.GdbError):
    """It is the same wherever it is asked."""


def need_condition(text: str) -> str:
    """TEXT, unless it is the same wherever it is asked: no search can find where it changes."""
    if is_constant(text):
        raise Constant(f"{text} is a constant: a condition names what can change, as in x > 0.")
    return text


def is_constant(text: str) -> bool:
    """Does it name nothing of the program, no register, no function?"""
    names = _NAME.findall(_NUMBERS.sub(" ", _TEXTS.sub(" ", text)))
    return not any(name.lower() not in _FIXED and not _is_enumerator(name) for name in names)


def _is_enumerator(name: str) -> bool:
    try:
        symbol = symbols.find(name)[0]
    except gdb.error:
        return False  # no frame: it may be a local
    # A library's enumerator is not meant.
    return symbol is not None and symbol.is_constant and own_symtab(symbol.symtab)
