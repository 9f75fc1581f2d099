"""Quotes around a whole argument, which are removed as in a shell.

So `bisect 'nxt < 5'` means the same here, in a script, in the console and in a shell.
"""

from __future__ import annotations

import re

import gdb

from . import elements, symbols

# A text that is quoted as a whole; '\'' is a shell's ' within '.
_WHOLE = re.compile(r"'(?:[^'\\]|'\\''|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# Languages in which GDB takes 'name' for a symbol.
_QUOTES = ("c", "c++", "asm", "objective-c", "opencl", "minimal", "d", "go")
TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)


def unquoted(text: str) -> str:
    """TEXT without quotes around all of it, except those that quote a symbol's name for GDB."""
    text = text.strip()
    while _WHOLE.fullmatch(text) and not _names_a_symbol(text):
        if text[0] == "'":
            text = text[1:-1].replace("'\\''", "'").replace("\\'", "'").strip()
        else:
            text = re.sub(r'\\(["\\$`])', r"\1", text[1:-1]).strip()
    return text


def _names_a_symbol(text: str) -> bool:
    """Is it a name that must be quoted for GDB, such as `'counter.0'`?"""
    if text[0] != "'" or re.fullmatch(r"'\s*\w*\s*'", text) or elements.language("") not in _QUOTES:
        return False  # elsewhere it is a text, for which GDB would call malloc in the program
    try:
        return bool(symbols.evaluated(f"&{text}").type.code == gdb.TYPE_CODE_PTR)
    except gdb.error:
        return False


class Unreadable(gdb.GdbError):
    """The text is no expression of the language."""


def without_texts(text: str) -> str:
    """TEXT with as many underscores in place of each text in it."""
    return TEXTS.sub(lambda found: "_" * len(found[0]), text)
