"""Answers about ranks that depend on each other."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rdb.commands.values import Bisected, MessagesShown
from rdb.console.queues import show_queues
from rdb.console.show import render
from rdb.console.waits import show_deadlock
from rdb.session.deadlock import Deadlock


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
