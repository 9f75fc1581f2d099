"""Which thread is selected: a seek goes past GDB, so it has to be told which thread runs there."""

from __future__ import annotations

from typing import Any

import gdb


def number() -> int:
    """Of the selected thread; the server names threads by their numbers."""
    thread = gdb.selected_thread()
    return int(thread.ptid[1]) if thread is not None else 0


def follow(answer: dict[str, Any]) -> None:
    """Has GDB ask which threads there are, and selects the one that the server's answer names."""
    if not answer["threaded"]:
        return
    gdb.execute("thread find ^$", to_string=True)
    select(answer["thread"])


def select(wanted: int) -> None:
    """Selects a thread if it is there; the one that was may be gone."""
    for thread in gdb.selected_inferior().threads():
        if thread.is_valid() and thread.ptid[1] == wanted:
            thread.switch()
            return
