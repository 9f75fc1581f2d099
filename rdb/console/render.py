"""Shows the data that commands return: `render(value, out)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from rdb.commands import values
from rdb.commands.gdb_table import extension_commands
from rdb.console import lanes, many, parallel
from rdb.console.session_tables import history_table
from rdb.console.show import error_line, labelled, render
from rdb.console.tables import plain_table, show_table
from rdb.errors import RdbError
from rdb.recording.verbs.objects import HEADER
from rdb.session.debugger import RankAnswer
from rdb.session.merge import Group, merge
from rdb.session.origin import Origin
from rdb.session.ranks import Rank, format_ranks
from rdb.session.session import Outcome, Travelled
from rdb.session.state import Place, RankState

__all__ = ["error_line", "lanes", "many", "parallel", "render"]

_VALUE_NUMBER = re.compile(r"^\$\d+ = ")


def render_groups(groups: Iterable[Group[RankAnswer]], out: Console, focus: int) -> None:
    for group in groups:
        answer = group.value
        if answer.text:
            labelled(group.label, answer.text, out, whole=len(group.ranks) == focus)
        if answer.error is not None:
            error_line(answer.error, out, group.label)


def render_positions(states: Mapping[Rank, RankState], out: Console) -> None:
    """Shows where ranks stand; equal places share a line.

    For example `[0-2] main () at heat.c:60, events 118..120`.
    """
    for group in merge(states, key=lambda state: (state.standing, state.limit, state.branch)):
        members = [states[rank] for rank in group.ranks]
        events = sorted({state.event for state in members})
        span = (
            f"event {events[0]:,}" if len(events) == 1 else f"events {events[0]:,}..{events[-1]:,}"
        )
        end = f" ({group.value.limit})" if group.value.limit else ""
        branch = " (branch)" if group.value.branch else ""
        out.print(Text(f"[{group.label}] {group.value.standing}, {span}{end}{branch}", "cyan"))


@render.register
def _(value: Outcome, out: Console) -> None:
    render_groups(value.groups(), out, len(value.answers))
    states = {rank: value.answers[rank].after for rank in value.moved}
    render_positions({rank: state for rank, state in states.items() if state}, out)


@render.register
def _(value: values.Followed, out: Console) -> None:
    render_positions(value.states, out)
    for group in merge(value.errors):
        error_line(group.value, out, group.label)


@render.register
def _(value: values.Live, out: Console) -> None:
    for group in merge(value.ranks):
        if isinstance(group.value, RdbError):
            error_line(group.value.message, out, group.label)
        else:
            labelled(group.label, group.value, out, whole=True)


@render.register
def _(value: values.Printed, out: Console) -> None:
    answers = value.outcome.answers
    groups = merge(answers, key=lambda answer: (_VALUE_NUMBER.sub("", answer.text), answer.error))
    for group in groups:
        texts = {answers[rank].text for rank in group.ranks}
        text = texts.pop() if len(texts) == 1 else _VALUE_NUMBER.sub("$ = ", group.value.text)
        if text:
            labelled(group.label, text, out, whole=len(group.ranks) == len(answers))
        if group.value.error is not None:
            error_line(group.value.error, out, group.label)


@render.register
def _(value: Travelled, out: Console) -> None:
    for entry in value.entries:
        where = f" in {format_ranks(entry.ranks)}" if entry.ranks else ""
        out.print(Text(f"{value.verb} {entry.text.splitlines()[0]}{where}"))
    if len(value.entries) < value.asked:
        out.print(Text(f"only {len(value.entries)} of {value.asked}: there are no more"))
    for note in merge(value.notes):
        labelled(note.label, note.value, out, whole=False)
    for group in merge(value.errors):
        error_line(group.value, out, group.label)
    render_positions(value.states, out)


@render.register
def _(value: values.Focus, out: Console) -> None:
    out.print(Text(f"focus: {format_ranks(value.ranks)} ({len(value.ranks)} of {value.job_ranks})"))
    for group in merge(value.failed):
        error_line(group.value, out, group.label)


@render.register
def _(value: values.VerbsShown, out: Console) -> None:
    for rank, verbs in value.ranks.items():
        if not verbs:
            out.print(Text(f"rank {rank}, event {verbs.event:,}: no verbs objects", "bold"))
            continue
        regions = f"{len(verbs.regions)} memory regions"
        total = sum(one.size_bytes for one in verbs.regions.values())
        head = f"rank {rank}, event {verbs.event:,}: {regions} ({total:,} bytes)"
        out.print(Text(head, "bold"))
        table = plain_table(*(title.lower() for title in HEADER))
        for row in verbs.table():
            table.add_row(*row)
        if verbs.table():
            show_table(table, out)


@render.register
def _(value: values.History, out: Console) -> None:
    if value.done or value.undone:
        show_table(history_table(value.done, value.undone), out)
    else:
        out.print("no commands yet")


@render.register
def _(value: Origin, out: Console) -> None:
    table = plain_table("rank", "position", "value", "where", "how")
    for hop in value.hops:
        table.add_row(
            str(hop.rank), hop.position, Text(hop.value),
            Text(str(Place(hop.function, hop.file, hop.line))), Text(hop.how),
        )  # fmt: skip
    if value.hops:
        show_table(table, out)
    if value.end:
        out.print(Text(value.end))


@render.register
def _(value: values.Saved, out: Console) -> None:
    out.print(Text(f"{value.commands} commands written to {value.path}"))


@render.register
def _(value: values.JobInfo, out: Console) -> None:
    table = plain_table("job", value.name)
    for name, text in {**value.facts, "path": value.path}.items():
        table.add_row(name, Text(text))
    show_table(table, out)


@render.register
def _(value: values.HelpIndex, out: Console) -> None:
    for group, commands in value.groups.items():
        out.print(Text(group.value, "bold"))
        table = plain_table()
        for command in commands:
            table.add_row(Text(f"  {command.usage}"), Text(command.summary))
        show_table(table, out)
    own = extension_commands()
    if own:
        out.print(Text("added to GDB by rdb", "bold"))
        table = plain_table()
        for name, summary in own.items():
            table.add_row(Text(f"  {name}"), Text(summary))
        show_table(table, out)
    out.print("Everything else goes to GDB in each rank in focus: reverse-next, break, watch, ...")


@render.register
def _(value: values.HelpPage, out: Console) -> None:
    command = value.command
    out.print(Text(f"usage: {command.usage}"))
    if command.aliases:
        out.print(Text(f"short: {', '.join(command.aliases)}"))
    out.print(Text(command.summary))
    if command.help:
        out.print(Text(command.help))
