"""The figures as tables for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from bench.figures import LogGrowth, Ratio, Response, Section


def seconds(value: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def show_machine(console: Console, machine: Mapping[str, object]) -> None:
    grid = Table.grid(padding=(0, 2))
    for name, value in machine.items():
        grid.add_row(f"[dim]{name}[/dim]", str(value))
    console.print(grid)


def show_section(console: Console, section: Section) -> None:
    console.print()
    if section.ratios:
        console.print(_ratios(section))
    if section.responses:
        console.print(_responses(section))
    if section.logs:
        console.print(_logs(section.logs))
    if section.error:
        console.print(f"[bold]{section.title}[/bold]\n[red]not measured: {section.error}[/red]")
    for note in section.notes:
        console.print(f"[dim]{note}[/dim]")


def _ratios(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left", title_style="bold")
    table.add_column("what", no_wrap=True)
    table.add_column("way", no_wrap=True)
    for name in ("native", "rdb", "ratio", "quartiles", "goal", "n"):
        table.add_column(name, justify="right")
    for row in section.ratios:
        table.add_row(*_ratio_cells(row))
    return table


def _ratio_cells(row: Ratio) -> tuple[str, ...]:
    return (
        row.what,
        row.way,
        seconds(row.native_s),
        seconds(row.way_s),
        _marked(f"{row.ratio:.2f}", row.goal is None or row.ratio <= row.goal),
        f"{row.ratio_low:.2f}-{row.ratio_high:.2f}",
        "" if row.goal is None else f"{row.goal:.2f}",
        str(row.n),
    )


def _responses(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left", title_style="bold")
    table.add_column("what", no_wrap=True)
    table.add_column("rank", no_wrap=True)
    for name in ("median", "p99", "max", "goal", "n"):
        table.add_column(name, justify="right")
    for row in section.responses:
        table.add_row(*_response_cells(row))
    return table


def _response_cells(row: Response) -> tuple[str, ...]:
    goals = [seconds(goal) for goal in (row.goal_median_s, row.goal_p99_s) if goal is not None]
    return (
        row.what,
        f"{row.rank_mb} MB" if row.rank_mb else "",
        _marked(
            seconds(row.median_s), row.goal_median_s is None or row.median_s <= row.goal_median_s
        ),
        _marked(seconds(row.p99_s), row.goal_p99_s is None or row.p99_s <= row.goal_p99_s),
        seconds(row.max_s),
        " / ".join(goals),
        str(row.n),
    )


def _logs(logs: list[LogGrowth]) -> Table:
    table = Table(title="Log of a rank", title_justify="left", title_style="bold")
    table.add_column("what", no_wrap=True)
    for name in ("events", "bytes an event", "MB a second"):
        table.add_column(name, justify="right")
    for row in logs:
        table.add_row(
            row.what,
            str(row.events),
            f"{row.bytes_per_event:.0f}",
            f"{row.bytes_per_s / 1e6:.1f}",
        )
    return table


def _marked(text: str, met: bool) -> str:
    return text if met else f"[yellow]{text}[/yellow]"
