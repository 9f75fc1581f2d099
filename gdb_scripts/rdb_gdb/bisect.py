"""bisect: when and where an expression first turned false."""

from __future__ import annotations

import json
from typing import Any

import gdb

from . import history, link, place
from .command import Command, typed
from .evaluate import Judge


class Bisect(Command):
    """Find where an expression turned false: bisect EXPRESSION [--last] [--json] [--progress]
    A value other than 0 is good, 0 is bad; where the expression has no value it is neither.
    It must be good at first and bad at the end.  Of several edges from good to bad finds an early
    one, with --last a late one, that a search by halving meets.
    Ends just before the instruction that made it bad; `undo` goes back."""

    name = "bisect"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        expression, options = _options(argument)
        if not expression:
            raise gdb.GdbError("Usage: bisect EXPRESSION [--last] [--json] [--progress]")
        log = history.log
        log.settle()
        start = log.current
        assert start is not None
        judge = Judge(expression)
        with log.command(typed("bisect", argument)):
            try:
                found = search(judge, "--last" in options, "--progress" in options)
                found = report(judge, found)
            except (gdb.GdbError, gdb.error, KeyboardInterrupt):
                place.seek(f"@{start.mark}")
                raise
            if "--json" in options:
                gdb.write(json.dumps(found) + "\n")
            else:
                gdb.write(as_text(found))
                place.show()


def _options(argument: str) -> tuple[str, set[str]]:
    """Options stand before or after the expression; within it `--` is C."""
    words = argument.split()
    options = set()
    known = ("--last", "--first", "--json", "--progress")
    while words and words[0] in known:
        options.add(words.pop(0))
    while words and words[-1] in known:
        options.add(words.pop())
    return " ".join(words), options


def search(judge: Judge, last: bool, progress: bool) -> dict[str, Any]:
    options = json.dumps({"last": last}).encode("utf-8").hex()
    answer = link.ask("bisect-start", options)
    while "ask" in answer:
        place.forget(answer)
        if progress:
            gdb.write(f"bisect: {100 * answer['progress']:.0f}% event {answer['event']}\n")
            gdb.flush()
        answer = link.ask("bisect-answer", judge.verdict())
    return answer


def report(judge: Judge, answer: dict[str, Any]) -> dict[str, Any]:
    """All there is to say; the rank stands before the change, and does so again afterwards."""
    place.seek(answer["after_at"])
    after, now = judge.value(), link.ask("state")
    place.seek(answer["before"])
    before = judge.value()
    event = answer["event"]
    by = link.ask("describe", str(now["event"]))["text"] if now["event"] > event else None
    return {
        "expression": judge.expression,
        "rank": link.ask("info")["rank"],
        "position": answer["before"],
        "event": event,
        **place.where(),
        "stack": stack(),
        "before": None if before is None else before.format_string(),
        "after": None if after is None else after.format_string(),
        "written_by": by or place.short(),
        "by_event": now["event"] if by else None,
        "receive": link.ask("last-receive", str(now["event"]))["receive"],
        "probes": answer["probes"],
        "undefined": answer["undefined"],
        "gap": answer["gap"],
    }


def stack() -> list[str]:
    lines = gdb.execute("backtrace 32", to_string=True).splitlines()
    return [line for line in lines if line.startswith("#")]


def as_text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['expression']} turned false in rank {found['rank']} at {found['position']}",
        f"Was = {found['before']}",
        f"Now = {found['after']}",
    ]
    if found["by_event"] is not None:
        lines.append(f"Changed by event {found['by_event']}: {found['written_by']}")
    else:
        lines.append(f"Changed by {found['written_by']}")
    receive = found["receive"]
    if receive is not None:
        lines.append(
            f"Last message before: from rank {receive['source']}, tag {receive['tag']}, "
            f"{receive['size_bytes']} bytes (event {receive['event']})"
        )
    if found["gap"]:
        lines.append("Between the two the expression has no value.")
    lines.append(f"{found['probes']} probes, {found['undefined']} without a value")
    return "\n".join([*lines, *found["stack"]]) + "\n"


def define() -> None:
    Bisect()
