"""Tables of a session: its ranks, its history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from rdb.console.spans import span
from rdb.console.tables import plain_table
from rdb.session.history import Entry
from rdb.session.overview import RankRow
from rdb.session.ranks import Rank, format_ranks
from rdb.session.state import RankState


def rank_table(groups: Iterable[tuple[tuple[Rank, ...], Sequence[RankRow]]]) -> Table:
    """Columns: rank, how it ended, events, position, where it stands; `*` marks the focus.

    Ranks that share a line are described by the first one.
    """
    table = plain_table("", "rank", "ended", "events", "position", "stands in")
    table.columns[1].justify = table.columns[3].justify = "right"
    for ranks, rows in groups:
        row = rows[0]
        stands = row.problem if row.problem else row.state.standing if row.state else "-"
        points = list(dict.fromkeys("-" if one.problem else one.point for one in rows))
        table.add_row(
            "*" if row.in_focus else "",
            format_ranks(ranks),
            Text(row.ended, style="red" if row.ended.failed else ""),
            span([one.events for one in rows]),
            points[0] if len(points) == 1 else "various",
            Text(stands, style="red" if row.problem else ""),
        )
    return table


def history_table(done: Sequence[Entry], undone: Sequence[Entry]) -> Table:
    table = plain_table("#", "ranks", "from", "to", "command")
    table.columns[0].justify = "right"
    for entries, style in ((done, ""), (undone, "dim")):
        for entry in entries:
            before, after = _span(entry)
            text = entry.text.splitlines()[0]
            if style:
                text += "  (undone)"
            ranks = entry.ranks or entry.focus_after
            table.add_row(
                str(entry.number), format_ranks(ranks), before, after, Text(text), style=style
            )
    return table


def _span(entry: Entry) -> tuple[str, str]:
    """Where the ranks stood before and after the command."""
    before = [visit.before for visit in entry.visits.values() if visit.before]
    after = [visit.after for visit in entry.visits.values() if visit.after]
    return _stood(before), _stood(after)


def _stood(states: Sequence[RankState]) -> str:
    """`start`, `118 heat.c:31`, or, if ranks stood at different events, `118..120`."""
    if not states:
        return "-"
    points = {state.point for state in states}
    if len(points) > 1:
        point = span([state.event for state in states])
    else:
        (point,) = points
    lines = {state.place.line_of_file for state in states}
    at_limit = len(points) == 1 and states[0].limit
    place = lines.pop() if len(lines) == 1 and not at_limit else None
    branch = " branch" if any(state.branch for state in states) else ""
    return f"{point} {place}{branch}" if place else f"{point}{branch}"
