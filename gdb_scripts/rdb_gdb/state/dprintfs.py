"""Breakpoints made by `dprintf`, read from `save breakpoints`: GDB's Python does not have them.

Only `info breakpoints` shows their numbers.  It is called only when the dprintfs have changed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

import gdb

from ..values import examined

TYPE = -1  # not a type of GDB's Python
_ROW = re.compile(r"(?m)^(\d+)\s+dprintf\s")
_CONDITION, _IGNORE, _DISABLE = "  condition $bpnum ", "  ignore $bpnum ", "disable $bpnum"
_numbers: dict[tuple[str, ...], list[int]] = {}  # specs at the last call -> their numbers


@dataclass
class Dprintf:
    """A dprintf with the attributes of a gdb.Breakpoint."""

    number: int
    spec: str  # the arguments of dprintf: location, format, values
    _condition: str | None = None
    _ignore: int = 0
    _enabled: bool = True
    type: int = field(default=TYPE, init=False)
    visible: bool = field(default=True, init=False)
    temporary: bool = field(default=False, init=False)
    silent: bool = field(default=False, init=False)
    commands: str | None = field(default=None, init=False)

    @property
    def condition(self) -> str | None:
        return self._condition

    @condition.setter
    def condition(self, wanted: str | None) -> None:
        self._do(f"condition {self.number} {wanted or ''}")
        self._condition = wanted

    @property
    def ignore_count(self) -> int:
        return self._ignore

    @ignore_count.setter
    def ignore_count(self, wanted: int) -> None:
        self._do(f"ignore {self.number} {wanted}")
        self._ignore = wanted

    @property
    def enabled(self) -> bool:
        return self._enabled

    @enabled.setter
    def enabled(self, wanted: bool) -> None:
        self._do(f"{'enable' if wanted else 'disable'} {self.number}")
        self._enabled = wanted

    def delete(self) -> None:
        self._do(f"delete {self.number}")

    def _do(self, command: str) -> None:
        gdb.execute(command, to_string=True)


def current() -> list[Dprintf]:
    found: list[Dprintf] = []
    for line in _saved().splitlines():
        if line.startswith("dprintf "):
            found.append(Dprintf(0, line.removeprefix("dprintf ")))
            last: Dprintf | None = found[-1]
        elif line[:1].isalpha() and line != _DISABLE:
            last = None  # another kind of breakpoint
        elif found and last is not None:
            _take(last, line)
    if not found:
        return found
    for one, number in zip(found, _numbered(tuple(one.spec for one in found))):
        one.number = number
    return found


def _take(one: Dprintf, line: str) -> None:
    """Reads a line of `save breakpoints` that follows the dprintf command."""
    if line.startswith(_CONDITION):
        one._condition = line.removeprefix(_CONDITION)
    elif line.startswith(_IGNORE):
        one._ignore = int(line.removeprefix(_IGNORE))
    elif line == _DISABLE:
        one._enabled = False


def _saved() -> str:
    file = os.memfd_create("breakpoints")
    try:
        gdb.execute(f"save breakpoints /proc/self/fd/{file}", to_string=True)
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="surrogateescape")
    finally:
        os.close(file)


def _numbered(specs: tuple[str, ...]) -> list[int]:
    if specs not in _numbers:
        listed = examined.said("info breakpoints")
        _numbers.clear()
        _numbers[specs] = [int(number) for number in _ROW.findall(listed)]
    return _numbers[specs]


def forget() -> None:
    """Drops the numbers: we have made or deleted a dprintf, perhaps with an equal spec."""
    _numbers.clear()
