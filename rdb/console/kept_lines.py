"""The lines that a user has typed, for the arrow keys: also those of earlier sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prompt_toolkit.history import FileHistory

from rdb.private import make_directories, opener
from rdb.recording import home


class KeptLines(FileHistory):
    """They may hold what others should not read: the file is the user's alone.

    Where it cannot be written the lines of this session are there all the same, and `trouble` says
    why, once.
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
        return f"{self._path}: {self._lost}: what is typed is not kept"
