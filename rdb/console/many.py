"""Answers about many ranks: their table, their stacks, their values side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from rdb.commands import values
from rdb.console.plots import draw
from rdb.console.session_tables import rank_table
from rdb.console.show import error_line, render
from rdb.console.tables import plain_table, show_table
from rdb.session.merge import merge
from rdb.session.overview import RankRow
from rdb.session.ranks import Rank, format_ranks
from rdb.session.stacks import StackNode

_ROWS = 16  # with more ranks, similar ranks share a line
_COUNTED = 8  # with more ranks, each frame of a tree shows its number of ranks
_NAMED = 6  # ranges of ranks that a line of figures names


@render.register
def _(value: values.Ranks, out: Console) -> None:
    alone = value.each or len(value.rows) <= _ROWS
    groups = [((row.rank,), [row]) for row in value.rows] if alone else _alike(value.rows)
    show_table(rank_table(groups), out)
    for lost in merge({row.rank: "; ".join(row.lost) for row in value.rows if row.lost}):
        error_line(lost.value, out, lost.label)


def _alike(rows: Iterable[RankRow]) -> list[tuple[tuple[Rank, ...], list[RankRow]]]:
    """Groups of ranks that differ only in their numbers of events, lowest rank first."""
    by_rank = {row.rank: row for row in rows}
    groups = merge(
        by_rank,
        key=lambda row: (
            row.ended,
            row.in_focus,
            row.problem,
            (row.state.standing, row.state.limit) if row.state else None,
        ),
    )
    return [(group.ranks, [by_rank[rank] for rank in group.ranks]) for group in groups]


@render.register
def _(value: values.Stacks, out: Console) -> None:
    counted = len({rank for node in value.roots for rank in node.ranks}) > _COUNTED

    def show(nodes: Iterable[StackNode], depth: int) -> None:
        for node in nodes:
            label = f"{node.label} ({len(node.ranks)})" if counted else node.label
            out.print(Text("  " * depth).append(f"{label}: ", "bold").append(str(node.frame)))
            # A chain without a fork stays in one column: deep stacks would leave the screen.
            show(node.calls, depth + (len(node.calls) > 1 or _ends_here(node)))

    show(value.roots, 0)
    _failed(value.failed, out)


def _ends_here(node: StackNode) -> bool:
    """Whether some of the ranks stop here while others go on."""
    return len(node.calls) == 1 and len(node.calls[0].ranks) < len(node.ranks)


@render.register
def _(value: values.RankSets, out: Console) -> None:
    if not value.sets:
        out.print("no sets of ranks; defset NAME RANKS|EXPR makes one")
    for name, ranks in value.sets.items():
        text = format_ranks(ranks) or "no ranks"
        out.print(Text(f"{name}:", "bold").append(
            f" {text} ({len(ranks)} of {value.job_ranks})", "not bold"
        ))  # fmt: skip
    _whose(value.variables, out)


@render.register
def _(value: values.Summary, out: Console) -> None:
    stats = value.stats
    table = plain_table("", value.expression, "ranks")
    table.columns[1].justify = "right"
    table.add_row("min", _figure(stats.least), _some(stats.least_ranks))
    table.add_row("max", _figure(stats.most), _some(stats.most_ranks))
    table.add_row("mean", _figure(stats.mean), _some(stats.ranks))
    table.add_row("stddev", _figure(stats.deviation), "")
    table.add_row("sum", _figure(stats.total), "")
    strange = [rank for rank, one in value.numbers.items() if math.isnan(one)]
    if strange:
        table.add_row("nan", str(len(strange)), _some(tuple(strange)))
    show_table(table, out)
    _whose(value.variables, out)
    _failed(value.others, out)


def _figure(value: float) -> str:
    return f"{value:.10g}"


def _some(ranks: tuple[Rank, ...]) -> str:
    """`3,12-17`; at most _NAMED ranges."""
    parts = format_ranks(ranks).split(",")
    more = ",..." if len(parts) > _NAMED else ""
    return f"{','.join(parts[:_NAMED])}{more} ({len(ranks)})" if len(ranks) > 1 else parts[0]


@render.register
def _(value: values.Plot, out: Console) -> None:
    out.print(Text(f"{value.expression} in ranks {format_ranks(value.numbers)}", "bold"))
    for line in draw(value.numbers, out.width):
        out.print(Text(line))
    _whose(value.variables, out)
    _failed(value.others, out)


@render.register
def _(value: values.Difference, out: Console) -> None:
    one, other = value.ranks
    whole = "the other" if value.missing else "all"
    members = "" if value.members == 1 else f", {whole} {value.members} members"
    _whose(value.variables, out)
    if not value.rows:
        out.print(Text(f"{value.expression} is the same in ranks {one} and {other}{members}"))
        _not_compared(value.missing, out)
        return
    table = plain_table(value.expression, f"rank {one}", f"rank {other}")
    for name, here, there in value.rows:
        table.add_row(
            Text(name or value.expression),
            Text("-" if here is None else here),
            Text("-" if there is None else there),
        )
    show_table(table, out)
    if value.members > 1:
        out.print(Text(f"{len(value.rows)} of {value.members} members differ"))
    _not_compared(value.missing, out)


def _not_compared(missing: Mapping[str, str], out: Console) -> None:
    for reason in dict.fromkeys(missing.values()):
        names = [name for name, why in missing.items() if why == reason]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        out.print(Text(f"not compared: {', '.join(names[:_NAMED])}{more}: {reason}"))


def _whose(variables: Mapping[Rank, str], out: Console) -> None:
    """Says which variables an expression used, where that is not obvious."""
    for group in merge({rank: said for rank, said in variables.items() if said}):
        out.print(Text(f"{group.label}: {group.value}"))


def _failed(reasons: Mapping[Rank, str], out: Console) -> None:
    for group in merge(reasons):
        error_line(group.value, out, group.label)
