"""Wait-for graphs as text: ranks that wait in the same way share an entry."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from rdb.console.spans import events, ranks_are
from rdb.recording.messages.wait_graph import Need, Waiter
from rdb.session.deadlock import Deadlock
from rdb.session.merge import Group, merge
from rdb.session.ranks import format_ranks

_FEW = 4  # at most that many ranks that differ only in their peers have entries of their own
_SHOWN = 8  # most peers that an entry of several ranks names; most ranks of a cycle
_PEERS = re.compile(r"\b(source|dest|root)=-?\d+")
_RANK = re.compile(r"\brank \d+")


def show_deadlock(value: Deadlock, out: Console) -> None:
    graph = value.graph
    for line in _verdict(value):
        out.print(Text(line, "bold"))
    for ranks, alike in _entries(value):
        for line in _entry(value, ranks, alike):
            out.print(Text(line))
    if graph.free and graph.waiters:  # otherwise the verdict says it
        out.print(Text(f"not blocked in MPI: {format_ranks(graph.free)}"))
    for group in merge(graph.ended):
        have = "has" if len(group.ranks) == 1 else "have"
        out.print(Text(f"{ranks_are(group.label)} {have} ended: {group.value}"))
    for problem in merge(value.problems):
        be = "is" if len(problem.ranks) == 1 else "are"
        said = f"{ranks_are(problem.label)} {be} not known: {problem.value}"
        out.print(Text(said, "red"))


def _entries(value: Deadlock) -> Iterator[tuple[Sequence[Waiter], bool]]:
    """Groups of waiters that share an entry, and whether they wait for the same ranks.

    If more than _FEW waiters differ only in the ranks that they wait for, they are one entry.
    """
    by_rank = {one.rank: one for one in value.graph.waiters}

    def same(one: Waiter) -> Hashable:
        state = one.deadlocked, one.perhaps
        return state, str(value.places.get(one.rank)), one.call.text, one.any_of, one.needs

    def nearly(one: Waiter) -> Hashable:
        needs = tuple((_RANK.sub("rank", need.what), need.any_of) for need in one.needs)
        place = str(value.places.get(one.rank))
        return one.deadlocked, one.perhaps, place, _PEERS.sub("", one.call.text), one.any_of, needs

    wide: list[Group[Waiter]] = merge(by_rank, key=nearly)
    for group in wide:
        members = {rank: by_rank[rank] for rank in group.ranks}
        exact = merge(members, key=same)
        if len(exact) > _FEW:
            yield list(members.values()), False
        else:
            for part in exact:
                yield [by_rank[rank] for rank in part.ranks], True


def _entry(value: Deadlock, waiters: Sequence[Waiter], alike: bool) -> Iterator[str]:
    one = waiters[0]
    mark = "" if one.deadlocked else "  (perhaps)" if one.perhaps else "  (can go on)"
    label = ranks_are(format_ranks(each.rank for each in waiters))
    place = value.places.get(one.rank)
    yield f"{label}, {events([each.event for each in waiters])}, {place}{mark}"
    yield f"  {one.call.text if alike else _PEERS.sub(_other, one.call.text)}"
    for number, need in enumerate(one.needs):
        head = "or for " if number and one.any_of else "waits for "
        if alike:
            yield f"  {head}{need.what}{_who(need)}"
            yield from (f"    {note}" for note in need.notes)
            continue
        yield f"  {head}{_RANK.sub('another rank', need.what)}:"
        pairs = [
            f"{each.rank} for {format_ranks(each.needs[number].ranks) or 'nobody'}"
            for each in waiters
        ]
        more = f", and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
        yield f"    {', '.join(pairs[:_SHOWN])}{more}"
        notes = merge({each.rank: each.needs[number].notes for each in waiters})
        for group in notes[:_SHOWN]:
            yield from (f"    of {ranks_are(group.label)}: {note}" for note in group.value)


def _other(match: re.Match[str]) -> str:
    return f"{match[1]}=..."


def _who(need: Need) -> str:
    """The ranks of a need, unless its text names them, as `a message from rank 1, tag 5` does."""
    if not need.ranks:  # it is not known whom it waits for
        return ""
    if len(need.ranks) == 1:
        return "" if f"rank {need.ranks[0]}" in need.what else f" (rank {need.ranks[0]})"
    return f" (ranks {format_ranks(need.ranks)})"


def _verdict(value: Deadlock) -> Iterator[str]:
    graph = value.graph
    perhaps = [one.rank for one in graph.waiters if one.perhaps]
    if not graph.waiters and not graph.unknown:
        yield "no rank is blocked in MPI"
    elif not graph.deadlocked and not graph.unknown:
        yield "no deadlock: each rank that waits can go on"
    if graph.deadlocked:
        yield f"deadlock of {len(graph.deadlocked)} ranks: {format_ranks(graph.deadlocked)}"
        if graph.cycle:
            shown = [f"rank {one}" for one in graph.cycle[:_SHOWN]]
            if len(graph.cycle) > _SHOWN:
                shown.append(f"{len(graph.cycle) - _SHOWN} more")
            yield "cycle: " + " -> ".join([*shown, f"rank {graph.cycle[0]}"])
    if graph.unknown:
        who = f" of {format_ranks(perhaps)}" if perhaps else ""
        more = "unknown whether there is a deadlock"
        if graph.certain:
            more = "perhaps more" if graph.deadlocked else "a deadlock, but unknown of which ranks"
        yield f"{more}{who}:"
        yield from (f"  {why}" for why in graph.unknown)
    yield from graph.notes
