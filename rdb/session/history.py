"""The commands of a session: to which ranks each went, and what undo takes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.session.debugger import RankAnswer
from rdb.session.ranks import Rank
from rdb.session.state import RankState

RankSets = Mapping[str, tuple[Rank, ...]]


class Visit(NamedTuple):
    """What a command did to one rank."""

    before: RankState | None
    after: RankState | None
    steps: int
    """How many entries it added to the command log of the rank's GDB."""

    def length(self, after: bool) -> int | None:
        """Length of that log before or after the command; None: not known."""
        state = self.after if after else self.before
        return None if state is None else state.history


class Entry(NamedTuple):
    """One command of the session."""

    number: int
    text: str
    visits: Mapping[Rank, Visit]
    focus_before: tuple[Rank, ...]
    focus_after: tuple[Rank, ...]
    sets: tuple[RankSets, RankSets] | None = None
    """The named sets of ranks before and after the command, if it changed them."""

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return tuple(sorted(self.visits))

    @property
    def changes(self) -> bool:
        """Can undo take anything back?"""
        return (
            self.focus_before != self.focus_after
            or self.sets is not None
            or any(visit.steps for visit in self.visits.values())
        )


class CommandLog:
    """Entries in the order of the commands; those from index `_done` on have been undone."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._done = 0
        self._number = 0

    @property
    def done(self) -> list[Entry]:
        return self._entries[: self._done]

    @property
    def undone(self) -> list[Entry]:
        return self._entries[self._done :]

    def add(
        self,
        text: str,
        answers: Mapping[Rank, RankAnswer],
        focus_before: tuple[Rank, ...],
        focus_after: tuple[Rank, ...],
        sets: tuple[RankSets, RankSets] | None = None,
    ) -> Entry:
        """Logs a command.  If it changes something, undone entries are dropped."""
        visits = {
            rank: Visit(answer.before, answer.after, answer.steps)
            for rank, answer in answers.items()
        }
        self._number += 1
        entry = Entry(self._number, text, visits, focus_before, focus_after, sets)
        if entry.changes:
            del self._entries[self._done :]
        self._entries.insert(self._done, entry)
        self._done += 1
        return entry

    def return_to(self, done: int) -> None:
        """As if `back` and `forward` had not been called since there were DONE entries."""
        self._done = done

    def since_bookmark(self, name: str) -> int:
        """How many commands have changed something since the bookmark was set.

        Raises RdbError if there are none, or no such bookmark.
        """
        for index in range(self._done - 1, -1, -1):
            if self._entries[index].text.split() in (["bookmark", name], ["ubookmark", name]):
                count = sum(entry.changes for entry in self._entries[index : self._done])
                if not count:
                    raise RdbError(f"nothing was done since {name}")
                return count
        raise RdbError(f"no bookmark {name!r}, or its command was undone", "`bookmark` lists them")

    def back(self) -> Entry | None:
        """Marks the last entry that changed something as undone; None: there is none."""
        for index in range(self._done - 1, -1, -1):
            if self._entries[index].changes:
                self._done = index
                return self._entries[index]
        return None

    def forward(self) -> Entry | None:
        """Marks the next undone entry that changed something as done; None: there is none."""
        for index in range(self._done, len(self._entries)):
            if self._entries[index].changes:
                self._done = index + 1
                return self._entries[index]
        return None
