"""Answers about ranks that depend on each other."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from rdb.commands.values import Bisected, MessagesShown
from rdb.console.likewise import by_statement, show_likewise, statement
from rdb.console.queues import show_queues
from rdb.console.show import labelled, render
from rdb.console.waits import show_deadlock
from rdb.session.deadlock import Deadlock


@render.register
def _(value: MessagesShown, out: Console) -> None:
    show_queues(value.queues, out)


@render.register
def _(value: Bisected, out: Console) -> None:
    answers = value.outcome.answers
    depths = value.order.depths
    found = sorted(value.found, key=lambda rank: (depths.get(rank, 0), rank))
    for alike in by_statement((_statement(answers[rank].text), rank) for rank in found):
        labelled(str(alike[0]), answers[alike[0]].text, out, whole=True)
        others = [(rank, str(rank), _short(answers[rank].text)) for rank in alike[1:]]
        show_likewise(others, out)
    said = {rank: replace(answers[rank], text="") for rank in found}
    render(value.outcome._replace(answers={**answers, **said}), out)
    out.print(Text(str(value.order), "bold"))


def _statement(text: str) -> Hashable:
    """TEXT: an answer of the extension's bisect."""
    changed = re.search(
        r"^Changed (?:by (?!event )|at )(.*?)(?: or later;.*)?$", text, re.MULTILINE
    )
    stack = [line for line in text.splitlines() if line.startswith("#")]
    return statement(stack, changed[1] if changed else None)


def _short(text: str) -> str:
    place = re.search(r" turned false in rank \d+ (.*)", text)
    element = re.search(r"^First (bad element: .*)", text, re.MULTILINE)
    message = re.search(r"^The (message that wrote it: .*)", text, re.MULTILINE)
    said = [place[1]] if place else []
    said += [f"first {element[1]}"] if element else []
    said += [f"the {message[1]}"] if message else []
    return "; ".join(said)


@render.register
def _(value: Deadlock, out: Console) -> None:
    show_deadlock(value, out)
