"""Convenience functions of GDB's expressions, `$_rdb_...(...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import gdb

from ..loading import at_load

# What stands for a variable in an expression (variables.py).
PLACEHOLDER = r"(?:\$_rdb_bound\(\d+\)|\(\*?\$_rdb_at_\d+\))"
_Answer = TypeVar("_Answer", bound=Callable[..., Any])


class Function(gdb.Function):
    """`$NAME(...)` returns the result of ANSWER."""

    def __init__(self, name: str, answer: Callable[..., Any], help_: str | None = None) -> None:
        self.__doc__ = help_ or answer.__doc__
        super().__init__(name)
        self._answer = answer

    def invoke(self, *given: gdb.Value) -> Any:
        return self._answer(*given)


def function(name: str) -> Callable[[_Answer], _Answer]:
    """Decorator: makes a convenience function; its docstring is the help."""

    def register(answer: _Answer) -> _Answer:
        at_load(lambda: Function(name, answer))
        return answer

    return register
