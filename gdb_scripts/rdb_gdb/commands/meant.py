"""rdb-meant: GDB's own commands that evaluate expressions, with the variables that are meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..state import conditions, meant, points
from ..values import (
    absent,
    intrinsics,
    predicates,
    pyvalues,
    quoting,
    subscripts,
    symbols,
    synthetic,
    texts,
)
from ..values.words import names
from .command import Command, command, when_opened

# GDB's commands that take one expression (printf: several), with what stands before it.
_TAKES_ONE = re.compile(
    r"(?P<command>(?:p(?:r(?:i(?:nt?)?)?)?|ins(?:p(?:e(?:ct?)?)?)?|output|call|disp(?:l(?:ay?)?)?"
    r"|wa(?:t(?:ch?)?)?|[ra]w(?:a(?:t(?:ch?)?)?)?|wha(?:t(?:is?)?)?|pt(?:y(?:pe?)?)?|x|printf)"
    r"(?:\s*/\w+)?(?:\s+-l(?:ocation)?\b|\s+-.*?\s--(?=\s))?)"
    r"(?=[\s(\"'*&])\s*(?P<expression>.+)",
    re.DOTALL,
)
_SETS = re.compile(
    r"(?P<command>set\s+var\w*\s)\s*(?P<place>[^=]+?)\s*=(?!=)\s*(?P<value>.+)", re.DOTALL
)
_PRINT = re.compile(r"(?:p|pr|pri|prin|print|ins\w*)(?![\w-])")
_WATCH = re.compile(r"[ra]?w(?!h)")
_WATCHED = re.compile(r"(.*?)(\s+(?:if|thread|task|mask)\b.*)?\Z", re.DOTALL)


@command("rdb-meant", gdb.COMMAND_DATA)
class InGdbs(Command):
    """Run a command of GDB's own with the program's variables: rdb-meant COMMAND
    For programs that drive GDB.  In print, display and watch, names mean the program's own
    variables; the answer names those that are not of the selected frame.  Predicates become
    functions of GDB: `break f if all(a > 0)` is `break f if $all("a > 0")`."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        try:
            execute(argument, from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


def execute(line: str, from_tty: bool = False) -> None:
    line = points.renumbered(line)
    sets = _SETS.fullmatch(line)
    if sets and not re.search(r"[-+*/%&|^<>!:]$", sets[2]):
        _set(sets[1], sets[2], sets[3], from_tty)
        return
    found = _TAKES_ONE.fullmatch(line)
    if found is None:
        with symbols.evaluating():
            line = conditions.survivable(line)
            try:
                gdb.execute(predicates.in_gdbs(line), from_tty)
            except gdb.error as error:
                again = conditions.known_at_a_hit(line, error)
                if again == line:
                    raise
                gdb.execute(predicates.in_gdbs(again), from_tty)
        return
    command, expression, rest = found["command"], found["expression"], ""
    if _WATCH.match(command):
        expression, rest = _WATCHED.fullmatch(expression).groups("")  # type: ignore[union-attr]
        expression = quoting.unquoted(expression)  # a string literal cannot be watched
    prints = _taken and _PRINT.match(command)
    if prints:
        command = _PRINT.sub("call", command, count=1)
    with meant.here(expression, as_gdb=True) as means, symbols.evaluating():
        if synthetic.stands_in(means.text) and _WATCH.match(command):
            raise gdb.error(f"{expression} is not in memory here: the optimizer has removed it.")
        if _WATCH.match(command) and not predicates.arguments(means.text):
            means.text = synthetic.held(means.text, means.members)
        plain = predicates.in_gdbs(means.text)
        text = subscripts.for_gdb(plain)
        compares = any(one in text for one in (texts.SAME, texts.TRIM)) and (
            _WATCH.match(command) or command.startswith("disp")
        )
        if (
            compares  # its result would have another type in frames of another language
            or pyvalues.expression(predicates.rest(expression)) is not None
            or (
                command.startswith("disp")
                and (
                    (text != plain and symbols.language() != "rust")
                    or synthetic.stands_in(text)
                    or intrinsics.of_classes(means.text) != means.text
                    or absent.may_be(expression, means.text, names(means.text))
                )
            )
        ):
            text = predicates.shown(expression)
        texts.need_values(text)
        with _void_is_said() if prints else nullcontext():
            gdb.execute(f"{command} {text}{predicates.in_gdbs(rest)}", from_tty)
        # Watching goes on in other frames, and in several ranks at once.
        said = means.bound if _WATCH.match(command) else means.said
        if said:
            gdb.write(f" ({said})" if command.startswith("output") else f"({said})\n")


def _set(command: str, place: str, value: str, from_tty: bool) -> None:
    with meant.here(value, as_gdb=True) as new, symbols.evaluating():
        said = predicates.in_gdbs(new.text)
        new_value = subscripts.for_gdb(said)
        with meant.here(place, as_gdb=True) as old:
            gdb.execute(f"{command} {subscripts.for_gdb(old.text)} = {new_value}", from_tty)
            if old.said:
                gdb.write(f"({old.said})\n")


class Print(gdb.Command):
    """print and inspect at GDB's own prompt.  GDB's `call` does the same, except for what has no
    value; nothing else does what `call` does, or the commands in _HOOKED."""

    def __init__(self, name: str) -> None:
        self.__doc__ = gdb.execute(f"help {name}", to_string=True)
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        line = f"call{'' if argument.startswith('/') else ' '}{argument}"
        try:
            with _void_is_said():
                (execute if link.opened() else gdb.execute)(line, from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


@contextmanager
def _void_is_said() -> Iterator[None]:
    """Prints `void` if no value has been added to GDB's history (known since GDB 12), as print
    does and call does not."""
    count: Any = getattr(gdb, "history_count", None)
    before = count and count()
    yield
    if count and count() == before:
        gdb.write("void\n")


# GDB commands that cannot be replaced.  Their expression stays, but hooks choose the frame: inside
# of a library the program's own frame, unless the user has selected one.
_HOOKED = ("call", "output", "display", "watch", "rwatch", "awatch")
_HOOKS = """define hook-{0}
python import rdb_gdb.state.meant; rdb_gdb.state.meant.to_own()
end
define hookpost-{0}
python import rdb_gdb.state.meant; rdb_gdb.state.meant.back()
end"""

# Where a function has not stored its arguments yet GDB lists what lies there.
_LISTS = """define info hookpost-{0}
python import rdb_gdb.state.meant; rdb_gdb.state.meant.say_unset({1})
end"""


_taken = False


@at_load
def advise() -> None:
    gdb.events.breakpoint_created.connect(_advise)


def _advise(point: Any) -> None:
    """Of a map's element at GDB's own prompt GDB looks at each instruction."""
    if point.type != gdb.BP_WATCHPOINT or not link.opened():
        return
    if subscripts.for_gdb(point.expression) != point.expression:
        gdb.write(f"Much faster: rdb-meant watch {point.expression}\n")


@when_opened
def take_over() -> None:
    """Replaces `print` and `inspect`, and hooks the others."""
    global _taken
    _taken = True
    for name in ("print", "inspect"):
        Print(name)
    for name in _HOOKED:
        gdb.execute(_HOOKS.format(name), to_string=True)
    for name, arguments in (("args", True), ("locals", False)):
        gdb.execute(_LISTS.format(name, arguments), to_string=True)
    events: Any = gdb.events  # before_prompt passes no event, other than the type stubs say
    events.before_prompt.connect(meant.back)
