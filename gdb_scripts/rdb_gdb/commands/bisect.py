"""bisect: when and where an expression turned false."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import gdb

from .. import link
from ..search import edges, gaps, last_calls, one_by_one, searching
from ..search.evaluate import Judge
from ..state import history, place
from ..values import conditions, quoting
from ..values.lookups import Meaningless, Undefined
from ..values.symbols import raising
from .command import Command, command, typed

_USAGE = (
    "bisect EXPRESSION [--first|--last] [--from POSITION] [--to POSITION] "
    "[--depth event|statement|instruction] [--jobs N] [--json] [--progress]"
)
_EVENTS_MAX = 20_000  # in which changes between events are sought
_CHECK_S = 5.0  # for what is before a change
_BINDING = 0.05  # share of the progress for binding the names
# Errors that are the result of the search: there is no such change, or it cannot be searched.
_NOWHERE = (link.Refused, conditions.Constant, quoting.Unreadable, Undefined)
_DEPTHS = ("event", "statement", "instruction")


@command("bisect")
class Bisect(Command):
    """Find where an expression turned false: bisect EXPRESSION [--last] [--from POS] [--to POS]
    A value other than 0 is true, 0 is false; where the expression has no value it is undefined.
    Its names mean what they mean in the innermost frame of the program's own code that has them, or
    in the frame of a library that you have selected; the answer says which variables those are.
    Searches the recording, or the events in POS..POS, for where it is true and then false.  If
    that happened several times, halving the events finds one change, and looking at each event
    before that, for some seconds, the first; with --last a late one, the last between two events.
    --depth says where the rank stands then: just before the instruction that made it false (the
    default), at the beginning of that statement, or at the event before it.
    FUNCTION::VARIABLE names a local; $_streq and other functions of GDB can be used.  `undo` goes
    back.  Other processors run ahead to where it may look next: --jobs N of them (all), 1: none.
    Ctrl-C ends the search and shows what is known by then.  Also: --json, --progress."""

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
                conditions.need_condition(text)
                found = report(*search(judge, options, depth), depth)
            except (gdb.GdbError, gdb.error, KeyboardInterrupt) as error:
                place.seek(f"@{start.stop_point}")
                if "--json" not in options or not isinstance(error, _NOWHERE):
                    raise
                found = {
                    "refused": str(error),
                    "bound": judge.bound,
                    "meaningless": isinstance(error, Meaningless),
                }
            if "--json" in options:
                gdb.write(json.dumps(found) + "\n")
            else:
                gdb.write(as_text(found))
                place.show()


def search(judge: Judge, options: searching.Options, depth: str) -> tuple[Judge, dict[str, Any]]:
    """The change, and what judges it."""
    last_one = "--last" in options
    request: dict[str, Any] = {
        "last": last_one,
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
        plain = {"last": last_one, "jobs": options.jobs}
        request["alive"], request["defined"] = judge.exits, judge.bound_at
        answer = link.ask("bisect-start", _packed(request))
        started = True
        until = last if high is None else high
        verdicts: dict[int, str] = {}
        try:
            answer = _asked(judge, answer, say, verdicts)
        except link.Refused as refused:
            if "good" not in verdicts.values():
                raise
            answer = _for_a_moment(judge, refused, verdicts, (first, until), request, progress, say)
        if "refused" in answer:
            answer = _past_what_is_bad_at_first(
                judge, answer, verdicts, request, until, progress, say
            )
        patience = searching.Patience(_CHECK_S)
        if not last_one:
            answer = _earliest(judge, answer, verdicts, request, patience, say)
        if depth != "event":
            if answer["gap"]:
                judge, answer = gaps.closed(judge, answer, _inner(plain, say))
            edges.refine(judge, answer, last_one, progress)
            edges.sooner(judge, answer, patience, progress)
        return judge, answer
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


def _inner(plain: dict[str, Any], say: Callable[..., None]) -> gaps.Search:
    """Carries out a search of another judge, with the options PLAIN and its own."""
    return lambda one, of: _asked(one, link.ask("bisect-start", _packed({**plain, **of})), say)


def _packed(request: dict[str, Any]) -> str:
    return json.dumps(request).encode("utf-8").hex()


def _asked(
    judge: Judge,
    answer: dict[str, Any],
    say: Callable[..., None],
    verdicts: dict[int, str] | None = None,
) -> dict[str, Any]:
    """Answers the questions of the search until it has a result.  Adds its answers to VERDICTS, by
    event."""
    while "ask" in answer:
        if link.pressed():
            raise KeyboardInterrupt
        place.forget(answer)
        share = _BINDING + (1 - _BINDING) * answer["progress"]
        say(share, answer["event"], answer["so_far"])
        verdict = judge.verdict()
        if verdicts is not None:
            verdicts[answer["event"]] = verdict[0]
        answer = link.ask("bisect-answer", ":".join(verdict))
    return answer


def _earliest(
    judge: Judge,
    answer: dict[str, Any],
    verdicts: dict[int, str],
    request: dict[str, Any],
    patience: searching.Patience,
    say: Callable[..., None],
) -> dict[str, Any]:
    """The result for the first change after the first event at which it is good: ANSWER, or one
    that halving has passed over."""
    if all(one != "good" or at > answer["event"] for at, one in verdicts.items()):
        return answer  # it is the first after the first value
    known = one_by_one.before(judge, verdicts, answer["event"], patience)
    if known.bad is not None:
        narrow = {**request, "low": known.good, "high": known.bad, "defined": None}
        found = _asked(judge, link.ask("bisect-start", _packed(narrow)), say)
        if "refused" in found:
            return answer
        good = [at for at, one in verdicts.items() if one == "good" and at > known.bad]
        answer = {**answer, **found, "again": min(good, default=None)}
    return {**answer, "since": known.good, "before_it": known.told}


def _for_a_moment(
    judge: Judge,
    refused: link.Refused,
    verdicts: dict[int, str],
    span: tuple[int, int],
    request: dict[str, Any],
    progress: searching.Progress,
    say: Callable[..., None],
) -> dict[str, Any]:
    """The result for what was true at all events that the search looked at."""
    try:
        request["defined"] = one_by_one.passed_over(judge, refused, verdicts, *span)
    except link.Refused as nowhere:
        good = max(at for at, one in verdicts.items() if one == "good")
        if good < span[1] and not request["events_only"]:
            plain = {"last": request["last"], "jobs": request["jobs"]}
            after = gaps.after_the_last(judge, good, _inner(plain, say))
            if after is not None:
                return after
        if request["events_only"] or span[1] - span[0] > _EVENTS_MAX:
            raise
        found = edges.at_a_moment(judge, good, span, request["last"], progress)
        if isinstance(found, str):
            raise link.Refused(f"{nowhere}{found}") from None
        return found
    return _asked(judge, link.ask("bisect-start", _packed(request)), say)


def _past_what_is_bad_at_first(
    judge: Judge,
    bad: dict[str, Any],
    verdicts: dict[int, str],
    request: dict[str, Any],
    until: int,
    progress: searching.Progress,
    say: Callable[..., None],
) -> dict[str, Any]:
    """The result if the expression is bad where it first has a value: a change between events, or
    else the first change after an event at which it is good."""
    try:
        return edges.between_events(judge, bad, request["last"], request["events_only"], progress)
    except link.Refused as refused:
        low, high = bad["edge"] or (bad["good"], None)
        if low is None:
            raise
        later = {**request, "low": low, "high": request["high"] if high is None else high}
        if bad["edge"] is None:
            later["defined"] = one_by_one.passed_over(judge, refused, {}, low, until)
        answer = _asked(judge, link.ask("bisect-start", _packed(later)), say, verdicts)
        return {**answer, "earlier": str(refused), "again": bad["again"]}


def _known(started: bool) -> str:
    return str(link.ask("bisect-known")["known"]) if started else "nothing is known yet"


def _rounded(options: searching.Options, name: str, up: bool) -> int | None:
    """The event of a position; if it is between two events, the one inside of the bound."""
    text, event = options.position(name), options.event(name)
    return event + 1 if up and event is not None and text != str(event) else event


def report(judge: Judge, answer: dict[str, Any], depth: str) -> dict[str, Any]:
    """The result as JSON.  At its end the rank is before the change."""
    place.seek(answer["after_at"])
    after, elements, now = judge.value(), judge.decided, link.ask("state")
    after_text = None if after is None else judge.text_of(after)
    after_false = judge.verdict()[0] == "bad"
    writer = gdb.selected_thread().ptid
    place.seek(answer["before"])
    before = judge.value()
    event = answer["event"]
    unseen = answer["gap"] and depth != "event"  # it may have turned anywhere in the gap
    by = None
    if now["event"] > event and not unseen:
        by = link.ask("describe", str(now["event"]))["text"]
    before_text = None if before is None else judge.text_of(before)
    before_true = judge.verdict()[0] == "good"
    operands = judge.operands()
    receive, wrote = _message(operands, now["event"], by is not None)
    position = answer["before"]
    if by is not None:
        _select(writer)
    if depth == "statement" and by is None:
        edges.to_statement()
        position = link.ask("name")["name"]
    return {
        "expression": judge.expression,
        "variables": judge.described,
        "bound": judge.bound,
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
        "written_by": by or last_calls.place_of_own(),
        "by_event": now["event"] if by else None,
        "after_event": now["event"],
        "operands": operands,
        "receive": receive,
        "receive_wrote": wrote,
        "probes": answer["probes"],
        "earlier": answer.get("earlier"),
        "again": answer.get("again"),
        "before_it": answer.get("before_it"),
        "undefined": answer["undefined"],
        "why_undefined": answer["why_undefined"],
        "gap": answer["gap"],
        "events_only": depth == "event",
    }


def _select(ptid: tuple[int, int, int]) -> None:
    """Selects a thread: the thread of the call may have waited while another ran."""
    for thread in gdb.selected_inferior().threads():
        if thread.ptid == ptid:
            thread.switch()


def _message(operands: list[tuple[int, int]], event: int, by_event: bool) -> tuple[Any, bool]:
    """The message that wrote an operand, or else the last one received; and whether it wrote."""
    for address, length in operands if by_event else ():
        receive = link.ask("receive-into", f"{event},{address:#x},{length}")["receive"]
        if receive is not None:
            return receive, True
    return link.ask("last-receive", str(event))["receive"], False


def stack() -> list[str]:
    """Without libc's callers of main: GDB cuts them only where C's main is the main program."""
    lines = gdb.execute("backtrace 32", to_string=True).splitlines()
    frames = [line for line in lines if line.startswith("#")]
    return list(itertools.takewhile(lambda line: " in __libc_start_" not in line, frames))


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
    if found["earlier"] is not None:
        lines.append(f"Before it was true: {found['earlier']}")
    if found["before_it"] is not None:
        lines.append(f"Before this {found['before_it']}")
    if found["again"] is not None:
        lines.append(f"True again at event {found['again']}")
    why = f": {found['why_undefined']}" if found["why_undefined"] else ""
    lines.append(f"{found['probes']} probes, {found['undefined']} without a value{why}")
    return "\n".join([*lines, *found["stack"]]) + "\n"
