"""What an expression means where the rank stands, in each command that looks and does not search.

Its names mean what they mean in the innermost frame of the program's own code that has them all;
where no such frame is on the stack they mean nothing.  To GDB's own commands (print, display,
watch) the selected frame comes first, with the locals of a library's function.  A library's statics
and globals are meant if a frame of it was selected, or by `print` if the program has no such name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gdb

from . import absent, conditions, link, predicates, progress, quoting, symbols
from .command import Command
from .lookups import NoneOfOwn, Unbound
from .own_frames import in_own_file, lacks, own_frames
from .variables import called, described, in_frame, object_called, selected, this_of, variables_of
from .words import names, replaced

# Of GDB's own commands those that take one expression (printf: several), and what stands before it.
_TAKES_ONE = re.compile(
    r"(?P<command>(?:p(?:r(?:i(?:n(?:t)?)?)?)?|inspect|output|call|disp(?:l(?:ay?)?)?"
    r"|(?:r|a)?wa(?:t(?:ch?)?)?|what(?:is?)?|pt(?:y(?:pe?)?)?|x|printf)"
    r"(?:\s*/\w+)?(?:\s+-l(?:ocation)?\b|\s+-.*?\s--(?=\s))?)"
    r"(?=[\s(\"'*&])\s*(?P<expression>.+)",
    re.DOTALL,
)
_PRINT = re.compile(r"(?:p|pr|pri|prin|print|inspect)(?![\w-])")
_WATCHED = re.compile(r"(.*?)(\s+(?:if|thread|task|mask)\b.*)?\Z", re.DOTALL)


@dataclass
class Meant:
    """TEXT is what to give GDB; SAID tells the variables, if they are not plainly those of the
    frame that is selected."""

    text: str
    said: str = ""


@contextmanager
def here(expression: str, as_gdb: bool = False) -> Iterator[Meant]:
    """Meanwhile the names mean these variables; Unbound if they mean nothing."""
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
        with selected(frame):
            try:
                variables, members = variables_of(expression, frame, locals_too=frame == chosen)
            except Unbound as unbound:
                why.append(unbound)
                continue
            modules = {one.name: one.in_gdbs for one in variables if one.of_module}
            told = variables if frame != chosen else [one for one in variables if one.of_module]
            this = this_of(frame) if members and frame != chosen else None
            name = "" if frame.function() is None else called(frame.function())
            said = described(told, members, name, this and object_called(this))
            text = in_frame(replaced(expression, modules), variables)
            try:
                yield Meant(text, said)
            except gdb.error as error:
                without = absent.why(text, names(text))
                if not without:
                    raise
                raise gdb.error(f"{without}.") from error
            return
    if as_gdb and not any(isinstance(one, NoneOfOwn) for one in why):
        yield Meant(expression)  # GDB says what is wrong
        return
    libraries = [one for one in why if isinstance(one, NoneOfOwn) and lacks(str(one.name))]
    if as_gdb and len(libraries) == len(why):
        said = "; ".join(dict.fromkeys(f"{one.name} of {one.library}" for one in libraries))
        yield Meant(expression, said)
        return
    # That a name is unknown says less than why it cannot be used where it is known.
    told = next((one for one in why if one.name is None), why[0])
    raise Unbound(f"{told}.", told.name)


def _frames(chosen: Any, as_gdb: bool) -> Iterator[Any]:
    """The selected one, and the program's own from there on outwards."""
    if as_gdb:
        yield chosen
    own = [frame for frame in own_frames() if frame.level() >= chosen.level()]
    yield from (frame for frame in own if not (as_gdb and frame == chosen))
    if not as_gdb and chosen not in own:
        yield chosen


def has_meaning(expression: str) -> bool:
    """To GDB's own commands, where the rank stands."""
    try:
        with here(expression, as_gdb=True):
            return True
    except Unbound:
        return False


class InGdbs(Command):
    """Run a command of GDB's own with the variables that are meant: rdb-meant COMMAND
    For programs that drive GDB.  Of print, display and watch the names mean the program's own
    variables, which are said if they are not those of the selected frame.  Predicates become
    functions of GDB's: `break f if all(a > 0)` is `break f if $all("a > 0")`."""

    name = "rdb-meant"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        try:
            execute(argument, from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


def execute(line: str, from_tty: bool = False) -> None:
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
    if "wa" in command.split()[0]:
        expression, rest = _WATCHED.fullmatch(expression).groups("")  # type: ignore[union-attr]
        expression = quoting.unquoted(expression)  # a text never changes
    if _taken:
        command = _PRINT.sub("call", command, count=1)
    with here(expression, as_gdb=True) as meant, symbols.evaluating():
        gdb.execute(
            f"{command} {predicates.in_gdbs(meant.text)}{predicates.in_gdbs(rest)}", from_tty
        )
        if meant.said:
            gdb.write(f" ({meant.said})" if command.startswith("output") else f"({meant.said})\n")


class Print(gdb.Command):
    """print and inspect at GDB's own prompt.  GDB's `call` does what they did, but for what has no
    value; nothing else does what `call` does, or the commands in _HOOKED."""

    def __init__(self, name: str) -> None:
        self.__doc__ = gdb.execute(f"help {name}", to_string=True)
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        line = f"call{'' if argument.startswith('/') else ' '}{argument}"
        try:
            (execute if link.opened() else gdb.execute)(line, from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


# Commands of GDB's own that nothing can take the place of: they cannot be told what to evaluate,
# but where.  Inside a library they get the program's own frame, unless a person has chosen one.
_HOOKED = ("call", "output", "display", "watch", "rwatch", "awatch")
_HOOKS = """define hook-{0}
python import rdb_gdb.meant; rdb_gdb.meant.to_own()
end
define hookpost-{0}
python import rdb_gdb.meant; rdb_gdb.meant.back()
end"""

_decided = 0
_came_from: Any = None


@contextmanager
def as_selected() -> Iterator[None]:
    """The frame that is selected is meant by GDB's own commands, too."""
    global _decided
    _decided += 1
    try:
        yield
    finally:
        _decided -= 1


def to_own() -> None:
    """Before a command."""
    global _came_from
    if _decided or not link.opened():
        return
    try:
        chosen, own = gdb.selected_frame(), own_frames()
        if not chosen.level() and not in_own_file(chosen) and own:
            _came_from = chosen
            own[0].select()
    except gdb.error:
        return  # no frame here: the command says so


def back() -> None:
    """After it; after one that has failed, at the next prompt."""
    global _came_from
    if _came_from is not None and _came_from.is_valid():
        _came_from.select()
    _came_from = None


_taken = False


def take_over() -> None:
    """A recording is opened: from now on they mean what they mean in rdb."""
    global _taken
    if not _taken:
        for name in ("print", "inspect"):
            Print(name)
        for name in _HOOKED:
            gdb.execute(_HOOKS.format(name), to_string=True)
        gdb.events.before_prompt.connect(back)
        _taken = True


_looks = progress.Looks()


class Predicate(gdb.Function):
    def __init__(self, name: str) -> None:
        self.__doc__ = f"Is, or gives, {name}() of an expression over arrays, a text."
        super().__init__(name)
        self._name = name

    def invoke(self, argument: Any) -> Any:
        text = predicates.text_of(argument)
        if text is None:
            raise gdb.GdbError(f'${self._name} needs a text: ${self._name}("a > 0").')
        _looks.one(f"{self._name}({text})", lambda: f"event {link.ask('state')['event']}")
        try:
            with here(text, as_gdb=True) as meant:
                return predicates.alone(self._name, meant.text)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


def define() -> None:
    gdb.events.stop.connect(_looks.over)
    for name in predicates.FOLDS:
        Predicate(name)
    InGdbs()
