"""Conditions of breakpoints: which variables they mean, and what evaluates them.

A name that is not known at the breakpoint's place means a library's static or global to GDB.  We
bind such a condition to the program's variable at a hit, as bisect binds its expression.

GDB compiles a condition for the server if it can.  Else (a function call, floating point, a
convenience variable) it silently evaluates the condition itself, which is slow, so we tell the
user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..values import (
    binding,
    cpython,
    elements,
    inherited,
    intrinsics,
    predicates,
    reserved,
    subscripts,
    symbols,
    texts,
)
from ..values.binding import Binding
from ..values.blocks import function_of
from ..values.conditions import is_constant
from ..values.functions import function
from ..values.lookups import Undefined, block_of
from ..values.nested import uses_outer
from ..values.quoting import unquoted
from ..values.static_members import Ambiguous
from ..values.variables import of_libraries
from ..values.words import names
from . import scopes

_looked_at: set[tuple[str, str]] = set()
# Errors about a place or a name that is not known here, not about compiling.
_ELSEWHERE = ("No symbol", "Function ", "No source file", "No line ", "malformed linespec")
# Errors about a std::atomic or optional that was not known where the condition was typed.
_OF_TYPES = ("Invalid combination of types", "Invalid type of operand", "Value not scalar")


def look(point: Any) -> None:
    """Handles a breakpoint that was made or changed; GDB reports a hit as a change, too."""
    condition = point.condition
    plain = unquoted(condition or "")
    if condition and plain != condition.strip():
        _without_quotes(point, plain)
        return
    spec = (point.expression if point.type in scopes.WATCHES else point.location) or ""
    if not condition or point.pending or (spec, condition) in _looked_at or not link.opened():
        return
    _looked_at.add((spec, condition))
    try:
        strangers = _of_libraries(point, condition)
    except Ambiguous as error:
        point.enabled = False
        gdb.write(f"rdb: {point.number} is off: {error}\n")
        return
    if strangers:
        _bind(point, condition, f"uses variables of the program, not {strangers}")
        return
    if _calls_operator(point, condition):
        _bind(point, condition, "has subscripts of objects, which rdb evaluates")
        return
    if _has_members(point, condition):
        _bind(point, condition, "has members of Fortran types, which rdb finds")
        return
    if any(uses_outer(condition, one) for one in _blocks(point) if point.location):
        # GDB would compile them as variables of the function at the place.
        _call(point, "_rdb_here", condition)
        return
    if is_constant(condition):
        gdb.write(f"rdb: the condition of {point.number} is a constant, the same at every hit\n")
        return
    if not point.location:  # `maint agent-eval` without a place would crash GDB
        what = "watchpoint" if point.type in scopes.WATCHES else "catchpoint"
        reason = "rdb's server evaluates only conditions of breakpoints"
    else:
        what, reason = "breakpoint", _why_not(spec, condition)
    if reason.startswith(_OF_TYPES):
        _bind(point, condition, "computes with classes, whose values rdb reads")
        return
    if reason:
        gdb.write(
            f"rdb: GDB itself evaluates the condition of {what} {point.number}, which is slower: "
            f"{reason}\n"
        )


def name_elements(event: Any) -> None:
    """At a stop, prints the elements that decided the predicate of the breakpoint."""
    if not isinstance(event, gdb.BreakpointEvent):
        return
    for point in event.breakpoints:
        texts = (point.expression if point.type in scopes.WATCHES else "", point.condition)
        for text in texts:
            if text and predicates.in_function(text):
                try:
                    symbols.evaluated(text)
                except gdb.error:
                    continue  # the stop has reported the error
                for element in predicates.decided():
                    gdb.write(f"rdb: {element}\n")


def _of_libraries(point: Any, condition: str) -> str:
    """The names in the condition that mean variables of libraries: `data of libc.so.6`."""
    found = []
    for block in _blocks(point):
        found += of_libraries(condition, block)
    return ", ".join(dict.fromkeys(f"{one.name} of {one.library}" for one in found))


def _blocks(point: Any) -> list[Any]:
    """Blocks in which GDB looks up the names: those of a breakpoint's places; of a watchpoint
    here."""
    if not point.location:
        return [block_of(gdb.selected_frame())]
    places = getattr(point, "locations", None)  # GDB 12 has none
    if places is None:
        return [gdb.block_for_pc(one.pc) for one in gdb.decode_line(point.location)[1] or ()]
    return [gdb.block_for_pc(one.address) for one in places]


def _calls_operator(point: Any, condition: str) -> bool:
    """Would GDB call an operator [] of the program?"""
    if not point.location:
        return subscripts.for_gdb(condition) != condition
    return any(
        '"' in one or "user defined functions" in _why_not(point.location, one)
        for one in subscripts.all_of(condition)
    )


def _has_members(point: Any, condition: str) -> bool:
    """Does it have members that GDB would not find, or texts whose length it does not know?"""
    if "%" not in condition:
        return False
    if intrinsics.has_part(condition):
        return True
    named = list(names(condition))
    return any(inherited.in_full_at(condition, one, named) != condition for one in _blocks(point))


def _bind(point: Any, condition: str, why: str) -> None:
    gdb.write(
        f"rdb: the condition of {point.number} {why}; "
        "at a hit where they have no value, GDB does not stop\n"
    )
    _call(point, "_rdb_true", condition)


def _call(point: Any, name: str, condition: str) -> None:
    """Makes the condition a call of a function of ours.

    GDB reads it in the language of the function at the place, if there is debug information, else
    in the selected frame's.
    """
    spoken = symbols.language()
    for function_ in filter(None, map(function_of, _blocks(point))):
        if elements.of_fortran(function_):
            spoken = "fortran"
        elif spoken == "fortran":
            spoken = "c"
    point.condition = f"${name}({predicates.quoted(condition, spoken)})"


_OF_BREAK = re.compile(
    r"(?:t?h?b|br|t?h?break)\s+(?P<place>\S.*?)\s+if\b(?P<condition>.+)", re.DOTALL
)
_OF_POINT = re.compile(r"cond\w*\s+(?P<number>\d+)\s+(?P<condition>\S.*)", re.DOTALL)


def survivable(line: str) -> str:
    """A command that sets a condition, changed to bind the names at a hit if GDB would crash."""
    return _at_a_hit(line, symbols.fatal_at)


def known_at_a_hit(line: str, error: gdb.error) -> str:
    """A command that GDB refused because the place has no such variables, changed to bind the names
    at a hit.

    An example is a function of a library without debug information, whose caller in the program has
    the variables.
    """
    if "syntax error" in str(error) or "type name" in str(error):
        return _at_a_hit(line, lambda _: reserved.is_in(line, anywhere=True))
    if not str(error).startswith("No symbol "):
        return line
    python = cpython.running() is not None  # names of Python are known at no place in C
    bound = _at_a_hit(
        line, lambda places: python or not any(gdb.find_pc_line(one).symtab for one in places)
    )
    if bound != line:
        gdb.write(
            "rdb: the condition uses variables of the program; at a hit where they have no value, "
            "GDB does not stop\n"
        )
    return bound


def _at_a_hit(line: str, wanted: Callable[[list[int]], bool]) -> str:
    found = _OF_BREAK.fullmatch(line) or _OF_POINT.fullmatch(line)
    if found is None:
        return line
    try:
        named = found.groupdict()
        if "place" in named:
            places = [one.pc for one in gdb.decode_line(named["place"])[1] or ()]
        else:
            numbered = [p for p in gdb.breakpoints() if str(p.number) == named["number"]]
            places = [one.address for point in numbered for one in getattr(point, "locations", ())]
    except gdb.error:
        return line  # GDB reports what is wrong with the place
    if not places or not wanted(places):
        return line
    text = unquoted(named["condition"])
    return f"{line[: found.start('condition')]} $_rdb_true({predicates.quoted(text)})"


_bound: dict[tuple[Any, str], Binding] = {}
_told: set[tuple[Any, str]] = set()


@function("_rdb_true")
def _true(argument: Any) -> bool:
    """$_rdb_true("s > 3"): is it true of the program's variables that it was first true or false
    of?"""
    text = texts.text_of(argument)
    if text is None:
        raise gdb.GdbError('$_rdb_true needs a string: $_rdb_true("a > 0").')
    key = (symbols.program(), text)
    try:
        one = _bound.get(key) or binding.bind(text) or Binding(text, gdb.newest_frame())
        if key not in _bound:
            _bound[key] = one
            gdb.write(f"rdb: {text}: {one.described}\n")
        return binding.truth(one.value())
    except Undefined as undefined:
        if key not in _told:
            _told.add(key)
            gdb.write(f"rdb: {text} is undefined here, so GDB does not stop: {undefined}\n")
        return False


@function("_rdb_here")
def _here(argument: Any) -> bool:
    """$_rdb_here("s > 3"): is it true in the selected frame?  GDB cannot compile it."""
    text = texts.text_of(argument)
    if text is None:
        raise gdb.GdbError('$_rdb_here needs a string: $_rdb_here("a > 0").')
    return binding.truth(predicates.value(text))


def forget() -> None:
    """Drops all: another recording was opened."""
    _bound.clear()
    _told.clear()
    _looked_at.clear()


def _without_quotes(point: Any, plain: str) -> None:
    """Removes the quotes of a condition: a string is true at every hit."""
    try:
        point.condition = plain
    except gdb.error as error:
        gdb.write(f"rdb: the condition of {point.number} is a string, true at every hit: {error}\n")


def _why_not(spec: str, condition: str) -> str:
    """Why GDB cannot compile the condition there; empty: it can."""
    try:
        gdb.execute(f"maintenance agent-eval -at {spec}, {condition}", to_string=True)
    except gdb.error as error:
        text = str(error).rstrip(".")
        return "" if text.startswith(_ELSEWHERE) else text
    return ""


@at_load
def define() -> None:
    gdb.events.breakpoint_created.connect(look)
    gdb.events.breakpoint_modified.connect(look)
    gdb.events.stop.connect(name_elements)
