"""Finds ranks of an expansion that will never go on, from what each rank says it waits for.

A rank that has waited for a while writes the file `expanding` in its folder, and updates that file
before it goes on (interposer/replay/expand_waits.c). Ranks are stuck if all of them wait for each
other or for ranks whose logs have ended, and each has looked for its message _LOOKS times since the
last of them moved. The unit is looks, not time, so a slow machine does not matter; and while a rank
on which another waits computes, nobody is stuck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rdb.live.expand.disagree import Disagreement, disagreement, members
from rdb.recording import Job
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.collectives import Flow, collectives
from rdb.recording.mpi.communication import RankCommunication

WAITS = "expanding"
_LOOKS = 10_000  # at least a second: the rank sleeps between looks
# of processor time, in a collective that can complete without the absent ranks
_UNCERTAIN_MS = 60_000
_KINDS = ("message", "receiver", "together")
_OVER = ("asks", "ended")


@dataclass(frozen=True, slots=True)
class Wait:
    """What a rank says it waits for."""

    pid: int
    host: str
    turn: int
    """How often the rank had begun or ended a wait."""
    event: int
    what: str
    peer: int
    tag: int
    looks: int
    """Looks without success; in a collective, milliseconds of processor time."""

    @property
    def over(self) -> bool:
        return self.what in _OVER


@dataclass(frozen=True, slots=True)
class Stuck:
    """A rank that will never go on."""

    rank: int
    event: int
    call: str
    what: str
    ranks: tuple[int, ...]
    """The ranks that it waits for."""


def read_wait(folder: Path) -> Wait | None:
    try:
        words = (folder / WAITS).read_text(encoding="ascii").split()
    except FileNotFoundError:
        return None
    pid, host, turn, event, what, peer, tag, looks = words
    return Wait(int(pid), host, int(turn), int(event), what, int(peer), int(tag), int(looks))


class Watch:
    """Watches the ranks of a job, given their folders; the caller polls."""

    def __init__(self, job: Job, folders: Mapping[int, Path]) -> None:
        self._job = job
        self._folders = folders
        self._messages = Messages(job)
        self._needs = _Needs(self._messages)
        self._turns: dict[int, int] = {}
        self._looks: dict[int, int] = {}

    def stuck(self) -> list[Stuck]:
        """The ranks that are stuck, once that is certain; else an empty list."""
        waits = self._waits()
        found = _closed(waits, self._needs)
        if not found:
            self._turns = {}
            return []
        turns = {rank: one.turn for rank, one in waits.items() if rank in found or one.over}
        if turns != self._turns:
            self._turns = turns
            self._looks = {rank: waits[rank].looks for rank in found}
            return []
        if any(not self._enough(waits[rank], self._looks[rank]) for rank in found):
            return []
        return [
            Stuck(rank, waits[rank].event, self._call(rank, waits[rank].event), _words(one), ranks)
            for rank, ranks in sorted(found.items())
            for one in (waits[rank],)
        ]

    def disagreement(self) -> Disagreement | None:
        """The first two ranks found that are in different collectives of one communicator."""
        for rank, wait in self._waits().items():
            if wait.what == "together":
                known = self._messages.communication(rank)
                there = [(name, number) for name, number, _ in _instances(known, wait.event)]
                if found := disagreement(self._messages, rank, there):
                    return found
        return None

    def _waits(self) -> dict[int, Wait]:
        return {
            rank: wait
            for rank, folder in self._folders.items()
            if (wait := read_wait(folder)) is not None
        }

    def _enough(self, wait: Wait, before: int) -> bool:
        return wait.what == "together" or wait.looks >= before + _LOOKS

    def _call(self, rank: int, event: int) -> str:
        return self._job.rank(rank).describe(event).partition("(")[0]


def _words(wait: Wait) -> str:
    if wait.what == "message":
        return f"a message with tag {wait.tag} from"
    if wait.what == "receiver":
        return f"its message with tag {wait.tag} to be received by"
    return "the collective to be called by"


def _closed(waits: Mapping[int, Wait], needs: _Needs) -> dict[int, tuple[int, ...]]:
    """The largest set of waiting ranks that each need a rank which has ended or is in the set."""
    found: dict[int, tuple[int, ...]] = {
        rank: ranks
        for rank, one in waits.items()
        if one.what in _KINDS and (ranks := tuple(needs.of(rank, one, waits)))
    }
    while True:
        dead = {rank for rank, one in waits.items() if one.over} | found.keys()
        kept = {
            rank: left
            for rank, ranks in found.items()
            if (left := tuple(one for one in ranks if one in dead))
        }
        if kept.keys() == found.keys():
            return kept
        found = kept


class _Needs:
    """Which other ranks a rank needs."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def of(self, rank: int, wait: Wait, waits: Mapping[int, Wait]) -> Iterable[int]:
        if wait.what != "together":
            return () if wait.peer in (-1, rank) else (wait.peer,)
        known = self._messages.communication(rank)
        for name, number, begun in _instances(known, wait.event):
            flow, root = _flow(known, name, number)
            all_ = members(self._messages, known.communicators.get(name), name)
            absent = [
                one
                for one in all_
                if one != rank and not self._arrived(one, name, number, waits.get(one))
            ]
            if begun is not None and absent:
                return _certain(flow, root, rank, all_, absent) or (
                    absent if wait.looks >= _UNCERTAIN_MS else ()
                )
        return ()

    def _arrived(self, rank: int, name: str, number: int, wait: Wait | None) -> bool:
        """Whether RANK has entered the collective; True also if it does not say where it is."""
        if wait is None or wait.what not in (*_KINDS, *_OVER):
            return True
        known = self._messages.communication(rank)
        places = known.collectives.get(name, ())
        if number < len(places):
            return wait.over or known.event(places[number]) <= wait.event
        return wait.what == "asks" and number == len(places)


def _instances(known: RankCommunication, event: int) -> Iterable[tuple[str, int, int | None]]:
    """Collectives that begin or complete at EVENT: communicator, number, event of the call."""
    for name, places in known.collectives.items():
        for number, place in enumerate(places):
            if known.event(place) == event or known.completed.get((name, number)) == event:
                yield name, number, known.event(place)


def _flow(known: RankCommunication, name: str, number: int) -> tuple[Flow, int]:
    item = known.item(known.collectives[name][number])
    return collectives().get(item.nr, ("", Flow.LATER))[1], item.peer


def _certain(
    flow: Flow, root: int, rank: int, members: list[int], absent: list[int]
) -> list[int] | None:
    """The absent ranks without which RANK cannot leave the call; None: that depends."""
    if flow is Flow.ALL:
        return absent
    at_root = root if not 0 <= root < len(members) else members[root]
    if flow is Flow.FROM_ROOT and at_root != rank:
        return [one for one in absent if one == at_root]
    if flow is Flow.TO_ROOT and at_root == rank:
        return absent
    return None
