"""history: the commands that can be undone and redone."""

from __future__ import annotations

import os

import gdb

from ..state import branches, history
from .command import Command, command


@command("history", gdb.COMMAND_STATUS)
class Listing(Command):
    """List the commands that changed something, with the places before and after: history
    The arrow shows where you are.  history --save FILE writes the commands into a file, which
    `source FILE` runs, on this recording or another one."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        log = history.log
        log.settle()
        words = gdb.string_to_argv(argument)
        if not words:
            listing(log)
        elif len(words) == 2 and words[0] == "--save":
            save(log, words[1])
        else:
            raise gdb.GdbError("Usage: history [--save FILE]")


def listing(log: history.History) -> None:
    if not log.entries:
        gdb.write("No commands yet.\n")
        return
    if log.done == 0:
        gdb.write("=> (the start)\n")
    for number, entry in enumerate(log.entries, start=1):
        arrow = "=>" if number == log.done else "  "
        undone = "  (undone)" if number > log.done else ""
        before = f"{_thread(entry.before.thread)}event {entry.before.event}, {entry.origin}"
        after = f"{_thread(entry.after.thread)}event {entry.after.event}, {entry.place}"
        way = after if after == before else f"{before} -> {after}"
        branch = f"  (branch {branches.title(entry.after.branch)})" if entry.after.branch else ""
        gdb.write(f"{arrow} {number:<4} {entry.text:<32} {way}{branch}{undone}\n")


def _thread(number: int | None) -> str:
    return "" if number is None else f"thread {number}, "


def save(log: history.History, path: str) -> None:
    """Writes one command a line.  Entries of scripts have no text and become comments."""
    lines = [entry.text for entry in log.entries[: log.done]]
    unknown = sum(line.startswith("(") for line in lines)
    lines = [f"# {line}" if line.startswith("(") else line for line in lines]
    try:
        with open(os.path.expanduser(path), "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise gdb.GdbError(f"cannot write {path}: {error.strerror}") from None
    gdb.write(f"{len(lines) - unknown} commands written to {path}\n")
    if unknown:
        gdb.write(f"{unknown} came from a script; the file has them as comments.\n")
