"""`rdb doctor`: prints what the probes of rdb.doctor found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from rdb.cli.output import print_json
from rdb.doctor import Finding, Machine, State, examine, works

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {State.OK: "green", State.DEGRADED: "yellow", State.MISSING: "bold red"}
_PIPE_WIDTH = 1000  # without a terminal nothing is cut or wrapped


def doctor_command(args: argparse.Namespace) -> int:
    findings = examine(Machine())
    if args.json:
        print_json([asdict(found) for found in findings])
    else:
        _show(findings)
    return 0 if works(findings) else 1


def _show(findings: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table

    tty = sys.stdout.isatty()
    console = Console(highlight=False) if tty else Console(highlight=False, width=_PIPE_WIDTH)
    width = max(len(found.what) for found in findings)
    with console.capture() as captured:
        for group, members in groupby(findings, key=lambda found: found.group):
            table = Table.grid(padding=(0, 1))
            table.add_column(width=max(len(f"  {state}") for state in State))
            table.add_column(width=width)
            table.add_column(overflow="fold")
            for found in members:
                state = _text(f"  {found.state}", _STYLES[found.state])
                table.add_row(state, _text(found.what), _found(found))
            console.print(_text(group, "bold"))
            console.print(table)
    for line in captured.get().splitlines():
        print(line if tty else line.rstrip())
    print()
    print(_summary(findings))


def _text(content: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(content, style)


def _found(found: Finding) -> Text:
    """The finding's detail; if the state is not OK, also its meaning and remedy."""
    text = _text(found.detail)
    if found.state is not State.OK:
        text.append(f"\n{found.meaning}")
        if found.remedy:
            text.append(f"\n-> {found.remedy}", "bold")
    return text


def _summary(findings: Sequence[Finding]) -> str:
    lacking = [f.what for f in findings if f.state is State.MISSING and f.essential]
    less = [f.what for f in findings if f.state is State.DEGRADED]
    if lacking:
        return f"rdb does not work here; missing: {', '.join(lacking)}"
    if less:
        return f"rdb works here, with limits: {', '.join(less)}"
    return "rdb works here"
