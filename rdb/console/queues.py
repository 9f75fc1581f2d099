"""Message queues as tables: ranks with similar queues share a table, similar messages a line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from rdb.console.spans import events, ranks_are, span
from rdb.console.tables import plain_table, show_table
from rdb.recording.messages.queues import ANY, Message, Posted, Queues
from rdb.session.merge import merge
from rdb.session.ranks import format_ranks

_TOGETHER = 3  # that many messages that differ only in the other end share a line
_MANY = 5  # that many messages under way on one channel share a line, which shows their number


class _Row(NamedTuple):
    """One line of one rank; ranks and events are separate from the other fields."""

    kind: str
    source: int
    dest: int
    tag: str
    size: str
    sent: int | None
    received: int | None
    comm: str

    def alike(self, own: int) -> Hashable:
        """Equal for rows of different ranks that share a line; OWN is the row's rank."""
        ends = tuple("own" if end == own else end for end in (self.source, self.dest))
        return self.kind, ends, self.tag, self.size, self.comm

    def channel(self, own: int) -> Hashable:
        """Like `alike`, but equal for all ranks at the other end, too."""
        ends = (self.source == own, self.dest == own)
        return self.kind, ends, self.tag, self.size, self.comm


def show_queues(shown: Iterable[Queues], out: Console) -> None:
    by_rank = {one.rank: one for one in shown}
    for group in merge(by_rank, key=_likeness):
        _show([by_rank[rank] for rank in group.ranks], out)


def _likeness(one: Queues) -> Hashable:
    counts = (len(one.posted), len(one.incoming), len(one.outgoing))
    return counts, tuple(row.alike(one.rank) for row in _rows(one))


def _show(group: Sequence[Queues], out: Console) -> None:
    one = group[0]
    ranks = [each.rank for each in group]
    each_of = " each" if len(ranks) > 1 else ""
    counts = (
        f"{_count(one.posted, 'receive')} posted, {_count(one.incoming, 'message')} on "
        f"{'its' if len(one.incoming) == 1 else 'their'} way to it, "
        f"{len(one.outgoing)} from it{each_of}"
    )
    head = f"{ranks_are(format_ranks(ranks))}, {events([each.event for each in group])}: {counts}"
    out.print(Text(head, "bold"))
    table = plain_table("", "from", "to", "tag", "bytes", "sent at", "received at", "on")
    for column in (1, 2, 3, 4, 5, 6):
        table.columns[column].justify = "right"
    # All ranks of the group have the same number of rows, alike place by place.
    lines = list(zip(*(_rows(each) for each in group), strict=True))
    for run in _runs([line[0] for line in lines], lambda row: row.channel(one.rank)):
        together = [row for line in lines[run.start : run.stop] for row in line]
        channel = len({(row.source, row.dest) for row in together}) == len(ranks)
        table.add_row(*_cells(together, len(run) if channel else 1))
    if lines:
        show_table(table, out)


def _count(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}{'s' * (len(things) != 1)}"


def _runs(rows: Sequence[_Row], key: Callable[[_Row], Hashable]) -> list[range]:
    """Ranges of ROWS that share a line, among neighbours with the same KEY."""
    runs: list[range] = []
    start = 0
    for index in range(1, len(rows) + 1):
        if index < len(rows) and key(rows[index]) == key(rows[start]):
            continue
        runs += _together(rows, range(start, index))
        start = index
    return runs


def _together(rows: Sequence[_Row], run: range) -> list[range]:
    """Splits a run: the whole run, or a range for each channel, or single rows."""
    ends = [(rows[at].source, rows[at].dest) for at in run]
    if len(run) >= _TOGETHER and len(set(ends)) == len(run):
        return [run]
    found: list[range] = []
    for _, group in groupby(run, key=lambda at: ends[at - run.start]):
        places = list(group)
        if len(places) >= _MANY and rows[places[0]].kind != "received":
            found.append(range(places[0], places[-1] + 1))
        else:
            found += [range(at, at + 1) for at in places]
    return found


def _cells(rows: Sequence[_Row], count: int) -> tuple[str, ...]:
    """The cells of one line for ROWS; COUNT messages of them are on one channel."""
    one = rows[0]
    sent = [row.sent for row in rows if row.sent is not None]
    received = [row.received for row in rows if row.received is not None]
    since = "since " if one.kind == "posted" else ""
    sends = "since " if one.kind == "sending" else ""
    return (
        one.kind if count == 1 else f"{count} {one.kind}",
        _ends([row.source for row in rows]),
        _ends([row.dest for row in rows]),
        one.tag,
        one.size,
        sends + span(sent) if sent else "",
        since + span(received) if received else "",
        one.comm,
    )


def _ends(ranks: Sequence[int]) -> str:
    return "any" if ranks[0] == ANY else format_ranks(ranks)


def _rows(one: Queues) -> list[_Row]:
    return [
        *(_posted(post) for post in one.posted),
        *(_message("expected" if m.expected else "unexpected", m) for m in one.incoming),
        *(_message("sent" if m.elements is None else "sending", m) for m in one.outgoing),
        *(_message("received", message) for message in one.received),
    ]


def _posted(one: Posted) -> _Row:
    tag = "any" if one.tag == ANY else str(one.tag)
    size = _elements(one.count)
    return _Row("posted", one.source, one.rank, tag, size, None, one.event, one.comm)


def _message(kind: str, one: Message) -> _Row:
    size = f"{one.size_bytes:,}" if one.elements is None else _elements(one.elements)
    return _Row(
        kind, one.source, one.dest, str(one.tag), size, one.sent_at, one.received_at, one.comm
    )


def _elements(count: int) -> str:
    return f"{count:,} element{'s' * (count != 1)}"
