"""The progress line of a long request: its duration and, if known, its progress."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .progress import ProgressLine


class Waiting:
    def __init__(self, what: str) -> None:
        self._line = ProgressLine(what)

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.end()

    def __call__(self, answer: dict[str, Any]) -> None:
        part = answer.get("progress")
        far = "" if part is None else f"{100 * part:.0f}%, "
        self._line.say(f"{far}{self._line.elapsed_s():.0f} s", " (Ctrl-C: back to where you were)")
