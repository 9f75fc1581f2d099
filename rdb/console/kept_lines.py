"""The lines that a user has typed in this and earlier sessions, for the arrow keys."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prompt_toolkit.history import FileHistory

from rdb.private import make_directories, opener
from rdb.recording import home


class KeptLines(FileHistory):
    """The history file is private (mode 0600), as lines may hold secrets.

    If the file cannot be written, the lines of this session still work, and `trouble` returns the
    reason once.
    """

    def __init__(self) -> None:
        self._path = str(home() / "console_history")
        super().__init__(self._path)
        self._lost: str | None = None
        self._said = False
        try:
            make_directories(str(home()))
            os.close(opener(self._path, os.O_CREAT | os.O_RDWR))
        except OSError as error:
            self._lost = error.strerror

    def load_history_strings(self) -> Iterable[str]:
        return [] if self._lost is not None else super().load_history_strings()

    def store_string(self, string: str) -> None:
        if self._lost is not None:
            return
        try:
            super().store_string(string)
        except OSError as error:
            self._lost = error.strerror

    def trouble(self) -> str | None:
        if self._lost is None or self._said:
            return None
        self._said = True
        return f"{self._path}: {self._lost}: the command history is not saved"
