"""The meaning of an expression at the position, for commands that do not search.

The names mean the variables of the innermost frame of the program's own code that has them all.
For GDB's own commands (print, display, watch) the selected frame comes first, with the locals of a
library's function.  A library's statics and globals are meant only if a frame of it is selected, or
by `print` if the program has no such name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gdb

from .. import link
from ..link import progress
from ..loading import at_load
from ..values import (
    absent,
    cpython,
    homes,
    inherited,
    predicates,
    prologue,
    reserved,
    symbols,
    synthetic,
    texts,
)
from ..values.functions import Function, function
from ..values.lookups import NoneOfOwn, NotThere, Unbound, block_of
from ..values.own_frames import in_own_file, lacks, own_frames
from ..values.variables import (
    called,
    described,
    in_frame,
    object_called,
    selected,
    this_of,
    unqualified,
    variables_of,
)
from ..values.words import names, replaced


@dataclass
class Meant:
    """TEXT: the expression for GDB; SAID: its variables, if they are not those of the selected
    frame; BOUND: all of them, the same text in each rank that means the same; MEMBERS: those of
    `this` among them."""

    text: str
    said: str = ""
    bound: str = ""
    members: list[str] = field(default_factory=list)


@contextmanager
def here(expression: str, as_gdb: bool = False) -> Iterator[Meant]:
    """Context in which the names mean these variables.  Raises Unbound if they mean nothing."""
    with as_selected(), symbols.raising(), _here(expression, as_gdb) as meant:
        yield meant


@contextmanager
def _here(expression: str, as_gdb: bool) -> Iterator[Meant]:
    chosen = gdb.selected_frame()
    if chosen.level() and not in_own_file(chosen):
        yield Meant(expression)
        return
    why: list[Unbound] = []
    for frame in _frames(chosen, as_gdb):
        with selected(frame, _language(expression, frame)):
            try:
                variables, members = variables_of(expression, frame, locals_too=frame == chosen)
            except Unbound as unbound:
                why.append(unbound)
                continue
            modules = {one.name: one.in_gdbs for one in variables if one.of_module}
            told = variables if frame != chosen else [one for one in variables if one.of_module]
            this = this_of(frame) if members else None
            name = "" if frame.function() is None else called(frame.function())
            at = object_called(this) if this and frame != chosen else None
            said = described(told, members, name, at)
            bound = described(variables, members, name, this and this[1])
            unset = prologue.unset(one.name for one in variables)
            said = "; ".join(one for one in (said, unset) if one)
            plain = unqualified(expression, members)
            full = inherited.in_full(plain, variables, list(names(plain)))
            text = in_frame(replaced(texts.for_gdb(full), modules), variables)
            alone = as_gdb and text.strip() in [one.in_frame for one in variables]
            with suppress(synthetic.Removed) if alone else nullcontext():  # GDB says so
                text = synthetic.for_gdb(text, members)
            try:
                with synthetic.without_malloc(variables):
                    yield Meant(text, said, bound, members)
            except gdb.error as error:
                without = absent.why(text, names(text)) or unset
                without = without or synthetic.lost(variables, error)
                if members and not without and this_of(frame) is None:
                    without = f"{', '.join(members)}: this is optimized out"
                if not without:
                    raise
                raise gdb.error(f"{without}.") from error
            return
    if len(why) > 1 and not in_own_file(chosen):
        why.append(why.pop(0))  # what the program's own frames lack tells more
    if as_gdb and not any(isinstance(one, (NoneOfOwn, NotThere)) for one in why):
        try:
            yield Meant(expression)  # GDB may know it, or reports what is wrong
        except gdb.error as error:
            reason = _reason(why)
            if reason.name is not None and not _is_of_names(error, reason.name):
                raise
            raise gdb.error(str(reason)) from None
        return
    libraries = [one for one in why if isinstance(one, NoneOfOwn) and lacks(str(one.name))]
    if as_gdb and len(libraries) == len(why):
        said = "; ".join(dict.fromkeys(f"{one.name} of {one.library}" for one in libraries))
        yield Meant(expression, said)
        return
    raise _reason(why)


def _reason(why: list[Unbound]) -> Unbound:
    """Why the names have no meaning here, with the functions of which the missing one is a
    local."""
    # Why a known name cannot be used tells more than that a name is unknown.
    reason = next((one for one in why if one.name is None), why[0])
    name = reason.name
    if name is None or cpython.running():
        return Unbound(f"{reason}.", name)
    found = homes.homes(name)
    local = f": {homes.told(name, found, search=False)}" if found else ""
    return Unbound(f"{reason}{local}.", name)


def _is_of_names(error: gdb.error, name: str) -> bool:
    taken = symbols.language() == "fortran" and reserved.is_in(name)
    return taken or str(error).startswith("No symbol")


def _frames(chosen: Any, as_gdb: bool) -> Iterator[Any]:
    """The selected frame, and the program's own frames outside of it."""
    if as_gdb:
        yield chosen
    own = [frame for frame in own_frames() if frame.level() >= chosen.level()]
    yield from (frame for frame in own if not (as_gdb and frame == chosen))
    if not as_gdb and chosen not in own:
        yield chosen


def _language(expression: str, frame: Any) -> str | None:
    """That of the program, for its own variables in a library's frame; None: the frame's."""
    own = [] if in_own_file(frame) else own_frames()
    if not own:
        return None
    with selected(frame, own[0].language()):
        try:
            variables, members = variables_of(expression, frame)
        except Unbound:
            return None
    anywhere = [one for one in variables if one.symbol is not None and not one.needs_frame]
    return own[0].language() if variables == anywhere and not members else None


def has_meaning(expression: str) -> bool:
    """Has it a meaning for GDB's own commands at the position?"""
    try:
        with here(expression, as_gdb=True):
            return True
    except Unbound:
        return False


_decided = 0
_came_from: Any = None


@contextmanager
def as_selected() -> Iterator[None]:
    """Context in which `to_own` does not change the selected frame."""
    global _decided
    _decided += 1
    try:
        yield
    finally:
        _decided -= 1


def to_own() -> None:
    """Hook before a GDB command: inside of a library it selects the program's own frame, unless the
    user has selected a frame."""
    global _came_from
    if _decided or not link.opened():
        return
    try:
        chosen, own = gdb.selected_frame(), own_frames()
        if not chosen.level() and not in_own_file(chosen) and own:
            _came_from = chosen
            own[0].select()
    except gdb.error:
        return  # no frame: the command reports that


def say_unset(arguments: bool) -> None:
    """Hook after `info args` and `info locals`: names those that are not stored yet."""
    frame: Any = gdb.selected_frame()
    block, listed = block_of(frame), []
    while block is not None:
        listed += [one.name for one in block if one.is_argument == arguments]
        block = None if block.function else block.superblock
    said = prologue.unset(listed)
    if said:
        gdb.write(f"({said})\n")


def back() -> None:
    """Hook after the command, or at the next prompt if it failed: restores the frame."""
    global _came_from
    if _came_from is not None and _came_from.is_valid():
        _came_from.select()
    _came_from = None


_looks = progress.Looks()


def _predicate(name: str, argument: Any) -> Any:
    text = texts.text_of(argument)
    if text is None:
        raise gdb.GdbError(f'${name} needs a string: ${name}("a > 0").')
    _looks.one(f"{name}({text})", lambda: f"event {link.ask('state')['event']}")
    try:
        with here(text, as_gdb=True) as meant:
            return predicates.alone(name, meant.text)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None


@function("_rdb_shown")
def _shown(argument: Any) -> Any:
    """$_rdb_shown('s'): its value, or why it has none: what is displayed may come to have one, and
    GDB evaluates nothing of Python's."""
    try:
        with here(str(texts.text_of(argument)), as_gdb=True) as meant:
            value = predicates.value(meant.text)
            value.fetch_lazy()
            return value
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None


@at_load
def define() -> None:
    gdb.events.stop.connect(_looks.over)
    for name in predicates.FOLDS:
        help_ = f"Return {name}() of an expression over arrays, which is given as a string."
        Function(name, partial(_predicate, name), help_)
