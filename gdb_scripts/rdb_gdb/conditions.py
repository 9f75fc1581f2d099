"""Conditions of breakpoints: whose variables they name, and who evaluates them.

GDB takes a name that the place of the breakpoint does not know for a library's static or global.
Such a condition is bound to the program's variable at a hit, as bisect binds its expression.

GDB compiles a condition for the server where it can, and silently evaluates it itself where it
cannot (a function call, floating point, a convenience variable): that is said before it takes long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gdb

from . import binding, link, predicates, scopes, symbols
from .binding import Binding
from .lookups import Undefined, block_of
from .quoting import is_constant, unquoted
from .variables import of_libraries

_looked_at: set[tuple[str, str]] = set()
# Of a place or a name that is not known here: no matter of compiling.
_ELSEWHERE = ("No symbol", "Function ", "No source file", "No line ", "malformed linespec")


def look(point: Any) -> None:
    """A breakpoint was made or changed, if only by being hit once more."""
    condition = point.condition
    plain = unquoted(condition or "")
    if condition and plain != condition.strip():
        _without_quotes(point, plain)
        return
    spec = (point.expression if point.type in scopes.WATCHES else point.location) or ""
    if point.type == gdb.BP_WATCHPOINT and predicates.in_function(spec):
        _say_once(
            spec,
            f"rdb: GDB looks at {spec} after each instruction, which is slow: find-event with the "
            "predicate goes to the next event, bisect to the statement\n",
        )
    if not condition or point.pending or (spec, condition) in _looked_at or not link.opened():
        return
    _looked_at.add((spec, condition))
    strangers = _of_libraries(point, condition)
    if strangers:
        _bind(point, condition, strangers)
        return
    if is_constant(condition):
        gdb.write(f"rdb: the condition of {point.number} is a constant, the same at every hit\n")
        return
    if not point.location:  # GDB does not survive to be asked about no place
        what = "watchpoint" if point.type in scopes.WATCHES else "catchpoint"
        reason = "only conditions of breakpoints go to the server"
    else:
        what, reason = "breakpoint", _why_not(spec, condition)
    if reason:
        gdb.write(
            f"rdb: GDB itself evaluates the condition of {what} {point.number}, which is slower: "
            f"{reason}\n"
        )


def _say_once(spec: str, text: str) -> None:
    if (spec, "") not in _looked_at:
        _looked_at.add((spec, ""))
        gdb.write(text)


def name_elements(event: Any) -> None:
    """Of a predicate that stopped the program: which element decided it."""
    if not isinstance(event, gdb.BreakpointEvent):
        return
    for point in event.breakpoints:
        texts = (point.expression if point.type in scopes.WATCHES else "", point.condition)
        for text in texts:
            if text and predicates.in_function(text):
                try:
                    symbols.evaluated(text)
                except gdb.error:
                    continue  # the stop itself has said so
                for element in predicates.decided():
                    gdb.write(f"rdb: {element}\n")


def _of_libraries(point: Any, condition: str) -> str:
    """`data of libc.so.6`"""
    found = []
    for block in _blocks(point):
        found += of_libraries(condition, block)
    return ", ".join(dict.fromkeys(f"{one.name} of {one.library}" for one in found))


def _blocks(point: Any) -> list[Any]:
    """Where GDB looks up the names: at each place of a breakpoint, for a watchpoint here."""
    if not point.location:
        return [block_of(gdb.selected_frame())]
    places = getattr(point, "locations", None)  # GDB 12 has none
    if places is None:
        return [gdb.block_for_pc(one.pc) for one in gdb.decode_line(point.location)[1] or ()]
    return [gdb.block_for_pc(one.address) for one in places]


def _bind(point: Any, condition: str, strangers: str) -> None:
    gdb.write(
        f"rdb: the condition of {point.number} means variables of the program, not {strangers}; "
        "at a hit where they have no value it does not stop\n"
    )
    point.condition = f"$_rdb_true({predicates.quoted(condition)})"


_OF_BREAK = re.compile(
    r"(?:t?h?b|br|t?h?break)\s+(?P<place>\S.*?)\s+if\b(?P<condition>.+)", re.DOTALL
)
_OF_POINT = re.compile(r"cond\w*\s+(?P<number>\d+)\s+(?P<condition>\S.*)", re.DOTALL)


def survivable(line: str) -> str:
    """A command that gives a breakpoint a condition, as GDB survives it: names are bound at a hit
    where it would not."""
    return _at_a_hit(line, symbols.fatal_at)


def known_at_a_hit(line: str, error: gdb.error) -> str:
    """The same for one that GDB refuses since the place has no variables, as a function of a
    library without debug information, while its caller in the program has."""
    if not str(error).startswith("No symbol "):
        return line
    bound = _at_a_hit(line, lambda places: not any(gdb.find_pc_line(one).symtab for one in places))
    if bound != line:
        gdb.write(
            "rdb: the condition means variables of the program; at a hit where they have no value "
            "it does not stop\n"
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
        return line  # GDB says what is wrong with the place
    if not places or not wanted(places):
        return line
    text = unquoted(named["condition"])
    return f"{line[: found.start('condition')]} $_rdb_true({predicates.quoted(text)})"


_bound: dict[tuple[Any, str], Binding] = {}
_told: set[tuple[Any, str]] = set()


class _True(gdb.Function):
    """$_rdb_true("s > 3"): is it true of the program's variables that it was first true or false
    of?"""

    def __init__(self) -> None:
        super().__init__("_rdb_true")

    def invoke(self, argument: Any) -> bool:
        text = predicates.text_of(argument)
        if text is None:
            raise gdb.GdbError('$_rdb_true needs a text: $_rdb_true("a > 0").')
        key = (gdb.current_progspace().filename, text)
        try:
            one = _bound.get(key) or binding.bind(text) or Binding(text, gdb.newest_frame())
            if key not in _bound:
                _bound[key] = one
                gdb.write(f"rdb: {text}: {one.described}\n")
            return binding.truth(one.value())
        except Undefined as undefined:
            if key not in _told:
                _told.add(key)
                gdb.write(f"rdb: {text} is undefined here, so there is no stop: {undefined}\n")
            return False


def forget() -> None:
    """Another recording has been opened."""
    _bound.clear()
    _told.clear()
    _looked_at.clear()


def _without_quotes(point: Any, plain: str) -> None:
    """As it is a text is true at every hit."""
    try:
        point.condition = plain
    except gdb.error as error:
        gdb.write(f"rdb: the condition of {point.number} is a text, true at every hit: {error}\n")


def _why_not(spec: str, condition: str) -> str:
    """GDB's reason why it cannot compile the condition there; empty: it can."""
    try:
        gdb.execute(f"maintenance agent-eval -at {spec}, {condition}", to_string=True)
    except gdb.error as error:
        text = str(error).rstrip(".")
        return "" if text.startswith(_ELSEWHERE) else text
    return ""


def define() -> None:
    _True()
    gdb.events.breakpoint_created.connect(look)
    gdb.events.breakpoint_modified.connect(look)
    gdb.events.stop.connect(name_elements)
