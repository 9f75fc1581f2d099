"""What-if branches: changes made in the past, and what followed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gdb

from .. import link

if TYPE_CHECKING:
    from .snapshot import Snapshot


@dataclass
class Branch:
    number: int
    text: str  # the command that opened it
    root: str  # the position where it left the recording
    origin: str  # that position as text for the user
    tip: Snapshot  # the newest state in it
    name: str = ""

    @property
    def title(self) -> str:
        return self.name or str(self.number)


known: dict[int, Branch] = {}


def note(text: str, before: Snapshot, origin: str, now: Snapshot) -> None:
    """Call it when a command has ended in a branch."""
    branch = known.get(now.branch)
    if branch is None:
        known[now.branch] = Branch(now.branch, text, now.position, origin, now)
    else:
        branch.tip = now


def renamed(number: int, text: str) -> None:
    """Sets the whole text of the command that opened the branch."""
    if number in known:
        known[number].text = text


def title(number: int) -> str:
    return known[number].title if number in known else str(number)


def find(word: str) -> Branch:
    for branch in known.values():
        if word in (branch.name, str(branch.number)):
            return branch
    raise gdb.GdbError(f'No branch "{word}"; `branch list` shows what there is.')


def give_name(branch: Branch, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise gdb.GdbError("A branch's name must be one word that begins with a letter.")
    if any(other.name == name and other is not branch for other in known.values()):
        raise gdb.GdbError(f'There is a branch "{name}" already.')
    branch.name = name


def kept(snapshot: Snapshot) -> bool:
    """Does the server still have that state?"""
    return not snapshot.branch or snapshot.stop_point in link.ask("kept")["kept"]


def drop(branch: Branch) -> None:
    """Forgets the branch; the server frees its replicas."""
    link.ask("branch-drop", str(branch.number))
    del known[branch.number]


_plain = ""  # the user's prompt
_marked = ""  # the user's prompt, marked with the branch


def prompt(shown: str, branch: int) -> str | None:
    """GDB's prompt, marked in a branch; None: it need not change."""
    global _plain, _marked
    if shown != _marked or not _marked:
        _plain = shown
    _marked = f"branch {title(branch)} {_plain}" if branch else ""
    wanted = _marked or _plain
    return None if wanted == shown else wanted
