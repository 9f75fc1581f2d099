"""Judging an expression at any position: good, bad, or undefined there."""

from __future__ import annotations

from typing import Any

import gdb

_FRAMES_MAX = 64


class Judge:
    """Evaluates in the innermost frame in which the expression has a value.

    If it has one in a function where the search was started, only that function's frames count:
    another function may have a variable of the same name.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.problem = ""  # why it had no value, where it had none the last time
        self._function: str | None = None
        frame = _selected()
        if frame is not None and self._value_in(frame) is not None and not self._global():
            self._function = frame.name()

    def _global(self) -> bool:
        """Has it a value whatever the frame?"""
        try:
            gdb.parse_and_eval(self.expression)
        except gdb.error:
            return False
        oldest = gdb.newest_frame()
        while oldest.older() is not None:
            oldest = oldest.older()
        return self._value_in(oldest) is not None

    def value(self) -> Any:
        """The value here, or None."""
        return self._innermost()[1]

    def frame(self) -> Any:
        """The frame in which it has its value here, or None."""
        return self._innermost()[0]

    def _innermost(self) -> tuple[Any, Any]:
        frame = gdb.newest_frame()
        for _ in range(_FRAMES_MAX):
            if self._function is None or frame.name() == self._function:
                value = self._value_in(frame)
                if value is not None:
                    return frame, value
            frame = frame.older()
            if frame is None:
                break
        return None, None

    def verdict(self) -> str:
        value = self.value()
        if value is None:
            return "undefined"
        try:
            return "good" if bool(value) else "bad"
        except (gdb.error, ValueError, TypeError):
            return "undefined"

    def _value_in(self, frame: Any) -> Any:
        before = gdb.selected_frame()
        try:
            frame.select()
            value = gdb.parse_and_eval(self.expression)
            if value.is_optimized_out:
                return None
            value.fetch_lazy()
            return value
        except gdb.error as error:
            if "syntax error" in str(error):
                raise gdb.GdbError(str(error)) from None
            self.problem = str(error)
            return None
        finally:
            before.select()


def _selected() -> Any:
    try:
        return gdb.selected_frame()
    except gdb.error:
        return None
