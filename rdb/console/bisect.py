"""`rdb bisect`: the search with a progress bar, and its answer."""

from __future__ import annotations

import asyncio
import json as json_text
import os
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import PurePath

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from rdb.console.lifetime import supervised
from rdb.console.likewise import by_statement, show_likewise, statement
from rdb.console.terminal import make_console
from rdb.errors import DamagedRecording, Usage
from rdb.recording import Job, open_job
from rdb.session.across import not_the_same
from rdb.session.bisect import Found, Interrupt, Report, bisect
from rdb.session.bisect import Progress as Heard
from rdb.session.causal_order import relation_of
from rdb.session.merge import merge
from rdb.session.ranks import Rank, format_ranks

_LINE_S = 5.0
_SHOWN = 8  # most ranks that a line names


def main(
    job: str | Job,
    expression: str,
    last: bool = False,
    as_json: bool = False,
    options: str = "",
    jobs: int | None = None,
) -> int:
    """`rdb bisect JOB EXPR [--last] [--json]` in all ranks of JOB.

    Returns 0 if found, 1 if found in no rank, 2 if the expression has no meaning in any rank, 5 if
    found in no rank while some gave no answer, 130 after Ctrl-C.
    """
    if not expression.strip():
        raise Usage("bisect needs an expression", "for example: rdb bisect JOB 'x > 0'")
    opened = open_job(job) if isinstance(job, str) else job
    ranks = opened.ranks

    async def work() -> int:
        with _bars(ranks, opened.address) as progress, _on_ctrl_c() as interrupt:
            report = await bisect(
                opened,
                expression,
                ranks,
                last,
                progress,
                options=options,
                jobs=jobs,
                interrupt=interrupt,
            )
        if as_json:
            print(json_text.dumps(asdict(report), indent=2))
        else:
            show(report, expression, make_console(), opened.address)
        if report.interrupted:
            return 130
        if report.found:
            return 0
        if all(one.meaningless for one in report.not_found):
            return Usage.exit_code
        return DamagedRecording.exit_code if report.unknown else 1

    return supervised(work())


@contextmanager
def _on_ctrl_c() -> Iterator[Interrupt]:
    """The first Ctrl-C ends the search with what is known; the next one ends rdb."""
    interrupt, loop = Interrupt(), asyncio.get_running_loop()
    previous = signal.getsignal(signal.SIGINT)

    def press() -> None:
        if interrupt.pressed:
            leave()
            os.kill(os.getpid(), signal.SIGINT)
        interrupt.press()

    def leave() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, previous)

    loop.add_signal_handler(signal.SIGINT, press)
    try:
        yield interrupt
    finally:
        leave()


@contextmanager
def _bars(ranks: list[Rank], name: Callable[[Rank], str]) -> Iterator[Heard]:
    """Progress on stderr: a bar for each rank on a terminal, otherwise a line every few seconds."""
    out = Console(stderr=True)
    if not out.is_terminal:
        lines = _Lines(ranks, name)
        try:
            yield lines.hear
        finally:
            lines.end()
        return
    columns = (TextColumn("rank {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as bars:
        tasks = {rank: bars.add_task(name(rank), total=1.0) for rank in ranks}
        told = _Told(name)

        def hear(rank: Rank, share: float, so_far: str) -> None:
            bars.update(tasks[rank], completed=share)
            told.hear(rank, so_far)

        yield hear


class _Told:
    """Prints, once for each rank, what is known before the rank's search ends."""

    def __init__(self, name: Callable[[Rank], str]) -> None:
        self._name = name
        self._ranks: set[Rank] = set()

    def hear(self, rank: Rank, so_far: str) -> None:
        if so_far and rank not in self._ranks:
            self._ranks.add(rank)
            print(f"rdb: bisect: rank {self._name(rank)}: {so_far}", file=sys.stderr, flush=True)


class _Lines:
    """Prints the progress of all ranks every _LINE_S seconds, even if no rank reports."""

    def __init__(self, ranks: list[Rank], name: Callable[[Rank], str]) -> None:
        self._shares = dict.fromkeys(ranks, 0.0)
        self._name = name
        self._told = _Told(name)
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._say())

    def hear(self, rank: Rank, share: float, so_far: str) -> None:
        self._shares[rank] = share
        self._told.hear(rank, so_far)

    def end(self) -> None:
        self._task.cancel()

    async def _say(self) -> None:
        while True:
            await asyncio.sleep(_LINE_S)
            under_way = {rank: f"{share:.0%}" for rank, share in self._shares.items() if share < 1}
            far = ", ".join(f"rank {self._name(one)} {share}" for one, share in under_way.items())
            if len(under_way) > _SHOWN:
                shares = sum(self._shares.values()) / len(self._shares)
                far = f"{len(under_way)} ranks under way, {shares:.0%} in all"
            seconds = time.monotonic() - self._began
            print(f"rdb: bisect: {far} after {seconds:.0f} s", file=sys.stderr, flush=True)


def show(report: Report, expression: str, out: Console, name: Callable[[Rank], str] = str) -> None:
    """Prints the report.  NAME gives a rank's name: a process may stand for its rank."""
    if report.found:
        first = [name(rank) for rank in report.first]
        plain = first == list(map(str, report.first))
        several = format_ranks(report.first) if plain else ", ".join(first)
        where = f"rank {first[0]}" if len(first) == 1 else f"ranks {several}"
        relation = f", {relation_of(report.together)}" if len(first) > 1 else ""
        out.print(Text(f"{expression} first turned false in {where}{relation}", "bold"))
        if len(report.found) > 1 and report.order_unknown is not None:
            out.print(
                Text(f"by recorded time; the causal order is not known: {report.order_unknown}")
            )
    else:
        ended = ", interrupted" if report.interrupted else ""
        out.print(Text(f"{expression}: found in no rank{ended}", "bold"))
    bound = {one.rank: one.bound for one in report.found}
    different = not_the_same(bound | {one.rank: one.bound for one in report.not_found})
    if different:
        out.print(Text(different, "bold"))
    if report.unknown:
        out.print(Text(f"no answer from: {', '.join(map(name, report.unknown))}", "bold"))
    for alike in by_statement((_statement(answer), answer) for answer in report.found):
        out.print(Text(f"\nrank {name(alike[0].rank)}, {_place(alike[0])}", "bold"))
        for line in _lines(alike[0]):
            out.print(Text("  " + line))
        show_likewise([(one.rank, name(one.rank), _short(one)) for one in alike[1:]], out)
    if report.found and report.not_found:
        out.print()
    for group in merge({answer.rank: answer.reason for answer in report.not_found}):
        out.print(Text(f"{group.label}: {group.value}"))


def _statement(answer: Found) -> Hashable:
    return statement(answer.stack, answer.written_by if answer.by_event is None else None)


def _short(answer: Found) -> str:
    elements = "".join(f"; first bad element: {one}" for one in answer.elements[:1])
    sender = f"; sent by {answer.sender}" if answer.sender else ""
    return _place(answer) + elements + sender


def _place(answer: Found) -> str:
    if answer.at_ns is None:
        return f"at {answer.position}"
    when = datetime.fromtimestamp(answer.at_ns / 1e9).isoformat(" ", "microseconds")
    return f"at {answer.position}, recorded {when}"


def _lines(answer: Found) -> Iterator[str]:
    if answer.file and answer.line:
        source = f": {answer.source_line}" if answer.source_line else ""
        yield f"{PurePath(answer.file).name}:{answer.line} in {answer.function}{source}"
        if answer.inside:
            yield f"inside {answer.inside}"
    else:
        yield f"in {answer.function or '?'}, which has no source"
    if answer.variables:
        yield answer.variables
    sides = (
        ("before", answer.before, answer.verified_before, "true"),
        ("after", answer.after, answer.verified_after, "false"),
    )
    for side, value, verified, wanted in sides:
        shown = "has no value" if value is None else value
        yield f"{side:<7}{shown}  ({f'verified {wanted}' if verified else 'NOT verified'})"
    for element in answer.elements:
        yield f"first bad element: {element}"
    if answer.by_event is not None:
        yield f"written by event {answer.by_event}: {answer.written_by}"
    elif answer.undefined_between:
        yield f"written at {answer.written_by} or later"
    else:
        yield f"written by {answer.written_by}"
    if answer.receive is not None:
        message = answer.receive
        which = "the message that wrote it" if message.wrote else "last message before"
        yield (
            f"{which}: from rank {message.source}, tag {message.tag}, "
            f"{message.size_bytes} bytes (event {message.event})"
        )
    elif answer.message is not None:
        yield f"the message that wrote it: {answer.message}"
    if answer.sender is not None:
        yield f"sent by {answer.sender}"
    elif answer.sender_unknown is not None:
        yield f"its sender is not known: {answer.sender_unknown}"
    if answer.undefined_between:
        yield "between the two it had no value wherever it was looked at"
    if answer.earlier is not None:
        yield f"before it was true: {answer.earlier}"
    if answer.before_it is not None:
        yield f"before this {answer.before_it}"
    if answer.again is not None:
        yield f"true again at event {answer.again}"
    if answer.undefined:
        why = f": {answer.why_undefined}" if answer.why_undefined else ""
        yield f"no value at {answer.undefined} of the places that were looked at{why}"
    yield from answer.stack
