"""The selected thread: a seek bypasses GDB, so GDB must be told which thread runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gdb


def number() -> int:
    """The server's number of the selected thread; 0: there is none."""
    thread = gdb.selected_thread()
    return int(thread.ptid[1]) if thread is not None else 0


def follow(answer: dict[str, Any]) -> None:
    """Makes GDB read the list of threads, and selects the one that the answer names."""
    if not answer["threaded"]:
        return
    gdb.execute("thread find ^$", to_string=True)
    select(answer["thread"])


def select(wanted: int) -> None:
    """Selects a thread, if it exists."""
    for thread in gdb.selected_inferior().threads():
        if thread.is_valid() and thread.ptid[1] == wanted:
            thread.switch()
            return


@contextmanager
def selected(wanted: int) -> Iterator[None]:
    """Context in which a thread is selected."""
    before = number()
    select(wanted)
    try:
        yield
    finally:
        select(before)
