"""Message queues and wait-for graphs as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from rdb.commands.values import Bisected, MessagesShown
from rdb.console.render import render
from rdb.console.tables import plain_table, show_table
from rdb.recording.queues import ANY, Message, Posted, Queues
from rdb.recording.waiting import Need
from rdb.session.deadlock import Deadlock
from rdb.session.ranks import format_ranks


@render.register
def _(value: MessagesShown, out: Console) -> None:
    show_queues(value.queues, out)


@render.register
def _(value: Bisected, out: Console) -> None:
    render(value.outcome, out)
    out.print(Text(str(value.order), "bold"))


@render.register
def _(value: Deadlock, out: Console) -> None:
    show_deadlock(value, out)


def show_queues(shown: Iterable[Queues], out: Console) -> None:
    for one in shown:
        counts = (
            f"{len(one.posted)} receives posted, {len(one.incoming)} messages on their way to it, "
            f"{len(one.outgoing)} from it"
        )
        out.print(Text(f"rank {one.rank}, event {one.event:,}: {counts}", "bold"))
        table = plain_table("", "from", "to", "tag", "bytes", "sent at", "received at", "on")
        for column in (1, 2, 3, 4, 5, 6):
            table.columns[column].justify = "right"
        rows = [
            *(_posted(post) for post in one.posted),
            *(_row("expected" if m.expected else "unexpected", m) for m in one.incoming),
            *(_row("sent", message) for message in one.outgoing),
            *(_row("received", message) for message in one.received),
        ]
        for row in rows:
            table.add_row(*row)
        if rows:
            show_table(table, out)


def _posted(one: Posted) -> tuple[str, ...]:
    source = "any" if one.source == ANY else str(one.source)
    tag = "any" if one.tag == ANY else str(one.tag)
    room = f"{one.count} elements"
    return "posted", source, str(one.rank), tag, room, "", f"since {one.event:,}", one.comm


def _row(kind: str, one: Message) -> tuple[str, ...]:
    return (
        kind,
        str(one.source),
        str(one.dest),
        str(one.tag),
        f"{one.size_bytes:,}",
        f"{one.sent_at:,}",
        "" if one.received_at is None else f"{one.received_at:,}",
        one.comm,
    )


def show_deadlock(value: Deadlock, out: Console) -> None:
    graph = value.graph
    for line in _verdict(value):
        out.print(Text(line, "bold"))
    for one in graph.waiters:
        place = value.places.get(one.rank)
        mark = "" if one.deadlocked else "  (can go on)"
        out.print(Text(f"rank {one.rank}, event {one.event:,}, {place}{mark}"))
        out.print(Text(f"  {one.call.text}"))
        between = "or for " if one.any_of else "waits for "
        for number, need in enumerate(one.needs):
            head = between if number else "waits for "
            out.print(Text(f"  {head}{need.what}{_who(need)}"))
            for note in need.notes:
                out.print(Text(f"    {note}"))
    if graph.free:
        out.print(Text(f"not blocked in MPI: {format_ranks(graph.free)}"))
    for rank, state in graph.ended.items():
        out.print(Text(f"rank {rank} has ended: {state}"))
    for rank, problem in value.problems.items():
        out.print(Text(f"rank {rank} is not known: {problem}", "red"))


def _who(need: Need) -> str:
    """The ranks, where the text does not name them: `a message from rank 1, tag 5`."""
    if len(need.ranks) == 1:
        return "" if f"rank {need.ranks[0]}" in need.what else f" (rank {need.ranks[0]})"
    return f" (ranks {format_ranks(need.ranks)})"


def _verdict(value: Deadlock) -> Iterator[str]:
    graph = value.graph
    if not graph.waiters:
        yield "no rank is blocked in MPI"
    elif not graph.deadlocked:
        yield "no deadlock: whoever waits can go on"
    else:
        yield f"deadlock of {len(graph.deadlocked)} ranks: {format_ranks(graph.deadlocked)}"
        if graph.cycle:
            yield "cycle: " + " -> ".join(f"rank {one}" for one in (*graph.cycle, graph.cycle[0]))
    yield from graph.notes
