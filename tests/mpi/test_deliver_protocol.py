"""The two protocols of processes that make messages again, in all orders of their steps.

The steps are those of interposer/replay/payload.c and deliver.c; `Silence` is the real one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rdb.live.expand.silence import Silence, State

# ---- files: who writes a message, and who reads it ----


@dataclass(frozen=True)
class Files:
    """A message of two halves and its mark, as `payload.part` and `payload.marks` have them."""

    halves: tuple[bool, bool] = (False, False)  # is it written?
    marked: bool = False


@dataclass(frozen=True)
class Reader:
    step: int = 0
    read: tuple[bool, ...] = ()
    took: bool | None = None  # True: it takes what it has read for the message


_WRITER_STEPS = 3


def _write(files: Files, step: int) -> Files:
    if step == 0:
        return replace(files, halves=(True, files.halves[1]))
    if step == 1:
        return replace(files, halves=(files.halves[0], True))
    return replace(files, marked=True)


def _read(files: Files, reader: Reader) -> Reader:
    if reader.step == 0:
        if not files.marked:
            return reader  # it asks, and looks again
        return replace(reader, step=1)
    if reader.step < 3:
        half = files.halves[reader.step - 1]
        return replace(reader, step=reader.step + 1, read=(*reader.read, half))
    return replace(reader, took=all(reader.read))  # the mark's checksum


def test_a_reader_never_gets_half_of_a_message() -> None:
    """Two write it at the same time, and each may be killed between any two steps."""
    start = (Files(), (0, 0), Reader())
    seen, left = {start}, [start]
    ends: set[tuple[bool, bool | None]] = set()
    while left:
        files, writers, reader = left.pop()
        after = [
            (_write(files, writers[who]), _stepped(writers, who), reader)
            for who in range(2)
            if writers[who] < _WRITER_STEPS
        ]
        if reader.took is None:
            after.append((files, writers, _read(files, reader)))
        else:
            ends.add((all(files.halves), reader.took))
        for one in after:
            if one not in seen:
                seen.add(one)
                left.append(one)
    # whoever found the mark found the whole message: it was written before
    assert ends == {(True, True)}


def _stepped(writers: tuple[int, int], who: int) -> tuple[int, int]:
    return (writers[0] + 1, writers[1]) if who == 0 else (writers[0], writers[1] + 1)


# ---- waiting: who sees that nobody will go on ----

_BEGUN = State(delivered=0, turn=0, looks=0)


@dataclass(frozen=True)
class Rank:
    """A rank that delivers and awaits messages by a script: `+m` delivers m, `?m` awaits it, and
    `?m/n` delivers n when it begins to wait: another thread has it ready."""

    script: tuple[str, ...]
    at: int = 0
    part: int = 0
    state: State = _BEGUN

    @property
    def ended(self) -> bool:
        return self.at == len(self.script)


def _moves(rank: Rank, there: frozenset[str]) -> tuple[Rank, frozenset[str]]:
    """One step of a rank."""
    what, (name, _, early) = rank.script[rank.at][0], rank.script[rank.at][1:].partition("/")
    state = rank.state
    if what == "+":
        if rank.part == 0 and name in there:  # early
            return replace(rank, at=rank.at + 1), there
        if rank.part == 0:  # the mark, then the count
            return replace(rank, part=1), there | {name}
        counted = state._replace(delivered=state.delivered + 1)
        return replace(rank, at=rank.at + 1, part=0, state=counted), there
    if rank.part == 0:  # a look
        return replace(rank, part=1 if name in there else 2), there
    if rank.part == 1:  # it has seen the message
        turn = state.turn + state.turn % 2
        return replace(rank, at=rank.at + 1, part=0, state=state._replace(turn=turn)), there
    if not state.waits:
        begun = state._replace(turn=state.turn + 1)
        return replace(rank, state=begun, part=3 if early and early not in there else 2), there
    if rank.part == 3:
        return replace(rank, part=4), there | {early}
    if rank.part == 4:
        counted = state._replace(delivered=state.delivered + 1)
        return replace(rank, part=2, state=counted), there
    return replace(rank, part=0, state=state._replace(looks=state.looks + 1)), there


def _watched(
    scripts: tuple[tuple[str, ...], ...], most_looks: int
) -> Iterator[tuple[bool, tuple[Rank, ...]]]:
    """All runs of the ranks and of who watches them: what it says, and the ranks then."""
    start = (tuple(map(Rank, scripts)), frozenset[str](), (), (), None, None, ())
    seen, left = {start}, [start]
    while left:
        ranks, there, sampled, before_left, before, settled, alive = left.pop()
        after = []
        for who, rank in enumerate(ranks):
            if rank.ended or rank.state.looks >= most_looks:
                continue
            moved, now = _moves(rank, there)
            after.append(
                (
                    (*ranks[:who], moved, *ranks[who + 1 :]),
                    *(now, sampled, before_left, before, settled, alive),
                )
            )
        if not sampled:  # who is left is asked first
            alive = tuple(who for who, rank in enumerate(ranks) if not rank.ended)
        if alive:
            sampled = (*sampled, ranks[len(sampled)].state)
            if len(sampled) < len(ranks):
                after.append((ranks, there, sampled, before_left, before, settled, alive))
            else:
                silence = Silence()
                silence._left = before_left
                silence._before = list(before) if before is not None else None
                silence._settled = list(settled) if settled is not None else None
                lasts = silence.lasts(alive, sampled)
                yield lasts, ranks
                kept = tuple(
                    None if one is None else tuple(one)
                    for one in (silence._before, silence._settled)
                )
                if not lasts:
                    after.append((ranks, there, (), silence._left, *kept, ()))
        for one in after:
            if one not in seen:
                seen.add(one)
                left.append(one)


def test_nobody_who_can_go_on_is_given_up() -> None:
    for scripts, most_looks in (
        ((("?a", "+b"), ("+a", "?b")), 5),
        ((("+a", "?b"), ("?a", "+b")), 4),
        ((("?a/b", "+b"), ("?b/a", "+a")), 4),
    ):
        runs = list(_watched(scripts, most_looks))
        assert len(runs) > 1000
        assert not any(lasts for lasts, _ in runs)


def test_ranks_that_wait_for_ever_are_seen() -> None:
    for scripts in ((("?a",), ("?b", "+a")), (("+a", "?b"), ("?a", "?c"))):
        told = [ranks for lasts, ranks in _watched(scripts, most_looks=4) if lasts]
        assert told
        assert all(not rank.ended for ranks in told for rank in ranks)
