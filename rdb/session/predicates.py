"""Predicates over arrays: GDB's form back to what the user typed
(gdb_scripts/rdb_gdb/values/predicates.py)."""

from __future__ import annotations

import re

NAMES = (
    "allfinite|all|any|count|sum|max|min|sorted|checksum|maxval|minval|product|prod"
    "|maxloc|minloc|argmax|argmin"
)

# GDB shows the translated form: `$max("u") > 6`.
_IN_GDBS = re.compile(
    rf"""\$(?:({NAMES})|_rdb_shown)\((?:"((?:\\.|[^"\\])*)"|'((?:''|[^'])*)')\)"""
)

# An element of a map: `(*(double *) $_rdb_element(m, "key"))`.
_ELEMENT = re.compile(
    r"""\(\*(?:\((?:(?!\$_rdb_element).)+? \*\) )?\$_rdb_element\(((?:(?!\$_rdb_element).)+?), """
    r"""("(?:\\.|[^"\\])*"|(?:(?!\$_rdb_element)[^"])*?)\)\)"""
)


# A comparison with a text: `$_rdb_same_text(s, "text")`.
_TEXT = r"""("(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^()'"]+)"""
_SAME = re.compile(rf"(\((?:!|\.not\. ))?\$_rdb_same_texts?\((.+?), {_TEXT}\)(?(1)\))")


# An element of a container of Rust: `(*$_rdb_item(v, 3))`.
_ITEM = re.compile(r"\(\*\$_rdb_item\(((?:(?!\$_rdb_item).)+?), ((?:(?!\$_rdb_item)[^()])+?)\)\)")

# The object of a member that is watched: `$_rdb_this_104000011eb0->energy`.
_HELD = re.compile(r"\$_rdb_this_[0-9a-f]+->")
# A variable of a submodule of Fortran: `(*$_rdb_module_102000005180_worst)`.
_OF_SUBMODULE = re.compile(r"\(\*\$_rdb_module_[0-9a-f]+_(\w+)\)")


def as_typed(shown: str) -> str:
    shown = _OF_SUBMODULE.sub(r"\1", _HELD.sub("", shown))
    shown, found = _IN_GDBS.sub(_as_typed, shown), 1
    shown = _SAME.sub(lambda one: f"{one[2]} {'!' if one[1] else '='}= {one[3]}", shown)
    while found:
        shown, found = _ELEMENT.subn(r"\1[\2]", shown)
        shown, items = _ITEM.subn(r"\1[\2]", shown)
        found += items
    return shown


def _as_typed(found: re.Match[str]) -> str:
    name, of_c, of_fortran = found.groups()
    text = re.sub(r"\\(.)", r"\1", of_c) if of_fortran is None else of_fortran.replace("''", "'")
    return text if name is None else f"{name}({text})"
