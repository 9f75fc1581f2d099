"""The commands of a session: where each went, what it did there, what undo takes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.session.debugger import RankAnswer
from rdb.session.ranks import Rank
from rdb.session.state import RankState

RankSets = Mapping[str, tuple[Rank, ...]]


@dataclass(frozen=True)
class Visit:
    """What a command did to one rank."""

    before: RankState | None
    after: RankState | None
    steps: int
    """Entries it added to the command log of the rank's GDB."""

    def length(self, after: bool) -> int | None:
        """How long that log was before or after it."""
        state = self.after if after else self.before
        return None if state is None else state.history


@dataclass(frozen=True)
class Entry:
    """One command of the session."""

    number: int
    text: str
    visits: Mapping[Rank, Visit]
    focus_before: tuple[Rank, ...]
    focus_after: tuple[Rank, ...]
    sets: tuple[RankSets, RankSets] | None = None
    """The named sets of ranks before and after it, if it changed them."""

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return tuple(sorted(self.visits))

    @property
    def changes(self) -> bool:
        """Is there anything for undo to take back?"""
        return (
            self.focus_before != self.focus_after
            or self.sets is not None
            or any(visit.steps for visit in self.visits.values())
        )


class CommandLog:
    """Entries in the order they were given; the ones from `_done` on have been undone."""

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
        """Logs a command.  One that changes something ends what could be redone."""
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

    def since_bookmark(self, name: str) -> int:
        """How many commands that changed something were given since the bookmark was set."""
        for index in range(self._done - 1, -1, -1):
            if self._entries[index].text.split() in (["bookmark", name], ["ubookmark", name]):
                count = sum(entry.changes for entry in self._entries[index : self._done])
                if not count:
                    raise RdbError(f"nothing was done since {name}")
                return count
        raise RdbError(f"no bookmark {name!r} that was not undone itself", "`bookmark` lists them")

    def back(self) -> Entry | None:
        """Takes the last entry that changed something off; None: there is none."""
        for index in range(self._done - 1, -1, -1):
            if self._entries[index].changes:
                self._done = index
                return self._entries[index]
        return None

    def forward(self) -> Entry | None:
        """Puts the next undone entry that changed something back; None: there is none."""
        for index in range(self._done, len(self._entries)):
            if self._entries[index].changes:
                self._done = index + 1
                return self._entries[index]
        return None
