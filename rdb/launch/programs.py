"""The programs of a job: one, or several side by side, as for mpirun (`-n 1 -- a : -n 3 -- b`)."""

from __future__ import annotations

from collections.abc import Sequence

from rdb.errors import Usage
from rdb.launch.program import find_program


class Started:
    """One program, and how many ranks run it.

    No dataclass: see Where.
    """

    __slots__ = ("arguments", "called", "extra", "program", "ranks")

    def __init__(self, ranks: int, extra: Sequence[str], words: Sequence[str]) -> None:
        self.ranks = ranks
        self.extra = extra
        """Arguments of mpirun that hold for this program only."""
        self.program = find_program(words[0])
        self.called, *self.arguments = words
        """called: the program as it was typed."""


def programs(ranks: int, words: Sequence[str]) -> list[Started]:
    """The programs of a command line for mpirun, of which RANKS ranks run the first.

    A colon separates them, as for mpirun(1). Usage: a part is not `-n N -- PROG ARGS`.
    """
    ends = [place for place, word in enumerate(words) if word == ":"]
    first, *others = (
        words[begin + 1 : end] for begin, end in zip([-1, *ends], [*ends, len(words)], strict=True)
    )
    if not first:
        raise Usage("run: no program before the first ':'")
    return [Started(ranks, (), first), *map(_started, others)]


def _started(words: Sequence[str]) -> Started:
    rest, ranks, extra = list(words), None, []
    while rest and rest[0].startswith("-") and rest[0] != "--":
        option, _, value = rest.pop(0).partition("=")
        value = value or (rest.pop(0) if rest else "")
        if option in ("-n", "-np") and value.isdigit() and int(value) > 0:
            ranks = int(value)
        elif option == "--launcher-arg":
            extra.append(value)
        else:
            raise Usage(f"run: cannot use {option} {value} after ':'", _FORM)
    if rest[:1] == ["--"]:
        rest = rest[1:]
    if ranks is None or not rest:
        raise Usage(f"run: {' '.join(words) or 'nothing'} after ':'", _FORM)
    return Started(ranks, extra, rest)


_FORM = "rdb run -n N -- PROG ARGS : -n N [--launcher-arg ARG] -- PROG ARGS"
