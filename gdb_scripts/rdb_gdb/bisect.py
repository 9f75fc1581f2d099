"""bisect: when and where an expression turned false."""

from __future__ import annotations

import json
from typing import Any

import gdb

from . import edges, history, link, place, quoting, searching
from .command import Command, typed
from .evaluate import Judge
from .lookups import Undefined
from .symbols import raising

_USAGE = (
    "bisect EXPRESSION [--first|--last] [--from POSITION] [--to POSITION] "
    "[--depth event|statement|instruction] [--jobs N] [--json] [--progress]"
)
_BINDING = 0.05  # of the progress
# It was looked for, and is not there; or it cannot be anywhere.
_NOWHERE = (link.Refused, quoting.Constant, Undefined)
_DEPTHS = ("event", "statement", "instruction")


class Bisect(Command):
    """Find where an expression turned false: bisect EXPRESSION [--last] [--from POS] [--to POS]
    A value other than 0 is good, 0 is bad; where the expression has no value it is neither.
    Its names mean what they mean in the innermost frame of the program's own code that has them, or
    in the frame of a library that you have selected; the answer says which variables those are.
    It must be good at first and bad at the end, of the recording or of the events in POS..POS.  Of
    several edges from good to bad finds an early one that a search by halving events meets, and
    the first one between its two events; with --last a late one, and the last one there.
    --depth says how near it comes: just before the instruction that made it bad (the default), to
    the beginning of that statement, or to the event before it.
    FUNCTION::VARIABLE names a local, $_streq and the like are there as everywhere.  `undo` goes
    back.  Other processors run ahead to where it may look next: --jobs N of them (all), 1: none.
    Ctrl-C ends the search with what it knows by then.  Also: --json, --progress."""

    name = "bisect"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        flags = "--first --last --json --progress --all-ranks"
        options = searching.Options(argument, _USAGE, flags, "--from --to --depth --jobs")
        text = options.need_text()
        depth = options.given.get("--depth", "instruction")
        if depth not in _DEPTHS:
            raise gdb.GdbError(f"--depth is {', '.join(_DEPTHS)}, not {depth}.")
        if "--all-ranks" in options:
            raise gdb.GdbError("Only one rank is here: rdb bisect JOB EXPR searches all of them.")
        log = history.log
        log.settle()
        start = log.current
        assert start is not None
        judge = Judge(options.text)
        with log.command(typed("bisect", argument)), link.calm(), raising():
            try:
                quoting.need_condition(text)
                found = report(judge, search(judge, options, depth), depth)
            except (gdb.GdbError, gdb.error, KeyboardInterrupt) as error:
                place.seek(f"@{start.mark}")
                if "--json" not in options or not isinstance(error, _NOWHERE):
                    raise
                found = {"refused": str(error)}
            if "--json" in options:
                gdb.write(json.dumps(found) + "\n")
            else:
                gdb.write(as_text(found))
                place.show()


def search(judge: Judge, options: searching.Options, depth: str) -> dict[str, Any]:
    request = {
        "last": "--last" in options,
        "low": _rounded(options, "--from", up=True),
        "high": _rounded(options, "--to", up=False),
        "events_only": depth == "event",
        "jobs": options.jobs,
    }
    progress = searching.Progress("bisect")
    started = False

    def say(share: float, event: int, so_far: str = "") -> None:
        more = f"; {so_far}" if so_far else ""
        if "--progress" in options:
            gdb.write(f"bisect: {100 * share:.0f}%, event {event}{more}\n")
            gdb.flush()
        else:
            progress.say(share, f", event {event}{more}")

    def look(event: int, share: float) -> None:
        if link.pressed():
            raise KeyboardInterrupt
        say(_BINDING * share, event)
        place.seek(str(event))

    try:
        info = link.ask("info")
        last = info["last_event"]
        high = request["high"]
        if high is not None and high > last:
            high = request["high"] = None  # other ranks may have as many events
        first = info["first_event"] if request["low"] is None else request["low"]
        if first > last:
            raise link.Refused(f"there is no event {first}: the recording ends at event {last}")
        link.ask("trouble")
        try:
            judge.bind(first, last if high is None else max(first, high), look)
        except Undefined:
            trouble = link.ask("trouble")["text"]
            if trouble:
                raise gdb.GdbError(f"the search cannot go on: {trouble}") from None
            raise
        request["alive"] = judge.exits
        answer = link.ask("bisect-start", json.dumps(request).encode("utf-8").hex())
        started = True
        while "ask" in answer:
            if link.pressed():
                raise KeyboardInterrupt
            place.forget(answer)
            share = _BINDING + (1 - _BINDING) * answer["progress"]
            say(share, answer["event"], answer["so_far"])
            answer = link.ask("bisect-answer", ":".join(judge.verdict()))
        if depth != "event":
            edges.refine(judge, answer, "--last" in options, progress)
        return answer
    except KeyboardInterrupt:
        raise gdb.GdbError(f"Interrupted; {_known(started)}.") from None
    except gdb.GdbError as error:
        if str(error).startswith("Interrupted"):
            raise gdb.GdbError(f"Interrupted; {_known(started)}.") from None
        if judge.described:
            kind = type(error) if isinstance(error, _NOWHERE) else gdb.GdbError
            raise kind(f"{error} ({judge.described})") from None
        raise
    finally:
        progress.end()


def _known(started: bool) -> str:
    return str(link.ask("bisect-known")["known"]) if started else "nothing is known yet"


def _rounded(options: searching.Options, name: str, up: bool) -> int | None:
    """The event at a position or, if it is between two, the one that is within."""
    text, event = options.position(name), options.event(name)
    return event + 1 if up and event is not None and text != str(event) else event


def report(judge: Judge, answer: dict[str, Any], depth: str) -> dict[str, Any]:
    """All there is to say; the rank stands before the change, and does so again afterwards."""
    place.seek(answer["after_at"])
    after, elements, now = judge.value(), judge.decided, link.ask("state")
    after_text = None if after is None else after.format_string()
    after_false = judge.verdict()[0] == "bad"
    place.seek(answer["before"])
    before = judge.value()
    event = answer["event"]
    unseen = answer["gap"] and depth != "event"  # what has no value may have turned anywhere
    by = None
    if now["event"] > event and not unseen:
        by = link.ask("describe", str(now["event"]))["text"]
    before_text = None if before is None else before.format_string()
    before_true = judge.verdict()[0] == "good"
    operands = judge.operands()
    receive, wrote = _message(operands, now["event"], by is not None)
    position = answer["before"]
    if depth == "statement" and by is None:
        edges.to_statement()
        position = link.ask("name")["name"]
    return {
        "expression": judge.expression,
        "variables": judge.described,
        "rank": link.ask("info")["rank"],
        "position": position,
        "event": event,
        **place.where(),
        "stack": stack(),
        "before": before_text,
        "before_true": before_true,
        "after": after_text,
        "after_false": after_false,
        "elements": elements,
        "written_by": by or place.short(),
        "by_event": now["event"] if by else None,
        "after_event": now["event"],
        "operands": operands,
        "receive": receive,
        "receive_wrote": wrote,
        "probes": answer["probes"],
        "undefined": answer["undefined"],
        "why_undefined": answer["why_undefined"],
        "gap": answer["gap"],
        "events_only": depth == "event",
    }


def _message(operands: list[tuple[int, int]], event: int, by_event: bool) -> tuple[Any, bool]:
    """The message that wrote an operand (one event may complete several), else the last one."""
    for address, length in operands if by_event else ():
        receive = link.ask("receive-into", f"{event},{address:#x},{length}")["receive"]
        if receive is not None:
            return receive, True
    return link.ask("last-receive", str(event))["receive"], False


def stack() -> list[str]:
    lines = gdb.execute("backtrace 32", to_string=True).splitlines()
    return [line for line in lines if line.startswith("#")]


def as_text(found: dict[str, Any]) -> str:
    between = "after" if found["events_only"] else "at"
    lines = [
        f"{found['expression']} turned false in rank {found['rank']} {between} {found['position']}",
        *([found["variables"]] if found["variables"] else []),
        f"Was = {found['before']}",
        f"Now = {found['after']}",
        *(f"First bad element: {element}" for element in found["elements"]),
    ]
    if found["events_only"]:
        lines.append(f"By event {found['by_event']}: {found['written_by']}")
    elif found["by_event"] is not None:
        lines.append(f"Changed by event {found['by_event']}: {found['written_by']}")
    elif found["gap"]:
        at = f"{found['written_by']} or later"
        lines.append(f"Changed at {at}; it was false after event {found['after_event']}")
    else:
        lines.append(f"Changed by {found['written_by']}")
    receive = found["receive"]
    if receive is not None:
        which = "The message that wrote it" if found["receive_wrote"] else "Last message before"
        lines.append(
            f"{which}: from rank {receive['source']}, tag {receive['tag']}, "
            f"{receive['size_bytes']} bytes (event {receive['event']})"
        )
    if found["gap"] and not found["events_only"]:
        lines.append("Between the two the expression has no value.")
    why = f": {found['why_undefined']}" if found["why_undefined"] else ""
    lines.append(f"{found['probes']} probes, {found['undefined']} without a value{why}")
    return "\n".join([*lines, *found["stack"]]) + "\n"


def define() -> None:
    Bisect()
