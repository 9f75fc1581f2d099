"""Watchpoints on predicates over arrays: their stops are searched, not stepped to.

GDB would evaluate the predicate after each instruction.  So before `continue` and
`reverse-continue` we search the event at which the value changes, and then the instruction.  The
server stops there at the latest, and GDB's own watchpoint is disabled on the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import gdb

from .. import link
from ..loading import at_load
from ..state import history, place, scopes
from ..values import predicates
from ..values.binding import Binding, bind
from ..values.symbols import raising
from . import passing
from .evaluate import Judge
from .predicate_events import Search

_HOOK = """define hook-continue
python import rdb_gdb.search.watching; rdb_gdb.search.watching.going()
end"""


class _Watched(Judge):
    """A watched predicate.  Good means: the value has changed (`turned`) or has not (not
    `turned`)."""

    def __init__(self, point: Any, text: str, frame: Any) -> None:
        super().__init__(text)
        self.binding: Binding = bind(text) or Binding(text, frame)
        self.point = point
        self.turned = False
        self.was: str | None = None
        self.known: _Known | None = None

    def bind(
        self, first: int, last: int, seek: Callable[[int, float], None], of_log: str = ""
    ) -> None:
        """Does nothing: it is bound since it was set."""

    def good(self, value: Any) -> bool:
        return (self.text_of(value) != self.was) == self.turned

    def shown(self) -> str | None:
        value = self.value()
        return None if value is None else self.text_of(value)


class _Known(NamedTuple):
    """From event `first` on the value does not change before event `until`, or `position`."""

    was: str | None
    last_event: int
    first: int
    until: float
    position: str | None


_watched: dict[int, _Watched] = {}
_going: list[_Watched] = []


def created(point: Any) -> None:
    if point.type != gdb.BP_WATCHPOINT or not predicates.in_function(point.expression):
        return
    try:
        text = predicates.as_written(point.expression)
        _watched[point.number] = _Watched(point, text, gdb.selected_frame())
    except (gdb.error, gdb.GdbError):
        return  # GDB reports what is wrong, or evaluates after each instruction


def going() -> None:
    """The hook before `continue`, which `reverse-continue` also runs."""
    back()
    points = [one for one in gdb.breakpoints() if one.enabled and one.type in scopes.WATCHES]
    watched = [one for one in _watched.values() if _is_searched(one.point)]
    if not link.opened() or not (watched or len(points) == 1):
        return
    history.log.settle()
    here, start = link.ask("state"), history.log.current
    if here["branch"] or start is None:
        return  # a branch has no recorded events
    forward = "Reverse" not in gdb.execute("show exec-direction", to_string=True)
    passed = not watched
    if passed:
        found = passing.place(points[0], here, forward)
    else:
        with history.log.unnoticed():
            found = _search(watched, here, forward, f"@{start.stop_point}")
    if found is not None:
        way = {"position": found, "forward": forward, "passed": passed}
        link.ask("until", json.dumps(way).encode("utf-8").hex())


def _search(watched: list[_Watched], here: dict[str, Any], forward: bool, start: str) -> str | None:
    """The position where one of them changes; None: none does.

    The rank does not move; GDB's watchpoints are disabled.
    """
    frame, found = gdb.selected_frame(), None
    for one in watched:
        one.was = one.shown() or one.was  # undefined here: the last known value
        scopes.back(one.point)
        one.point.enabled = False
    _going.extend(watched)
    try:
        for one in watched:
            found = _nearer(found, _turn(one, here, forward), forward)
        place.seek(start)
    except BaseException:
        place.seek(start)
        back()
        raise
    if frame.is_valid():
        frame.select()
    return found


def _is_searched(point: Any) -> bool:
    """Can the stop be searched?  Not if GDB must do something at each change."""
    if not point.is_valid() or not (point.enabled or scopes.waiting(point)):
        return False
    return not (point.condition or point.commands or point.ignore_count or point.thread)


def _nearer(one: str | None, other: str | None, forward: bool) -> str | None:
    """The nearer position by event; of two in one interval the first: `back` reports both."""
    found = [position for position in (one, other) if position is not None]
    return (min if forward else max)(found, key=place.event_of, default=None)


def _turn(one: _Watched, here: dict[str, Any], forward: bool) -> str | None:
    """The position of the next (or last) change; None: there is none."""
    event, last = here["event"], link.ask("info")["last_event"]
    known = one.known
    same = forward and known is not None and (known.was, known.last_event) == (one.was, last)
    if known is not None and same and known.first <= event < known.until:
        return known.position
    one.turned = True
    search = Search("", [one], "watch")
    inside = here["position"] != str(event)
    span: tuple[int, int] = (event + 1, last) if forward else (0, event - (not inside))
    found = next(search.run(*span, backwards=not forward), None)
    if search.interrupted:
        raise gdb.GdbError("Interrupted; still where you were.")
    if found is not None and forward:
        ends = [_place(here, found.event - 1), str(found.event)]
    elif found is not None:
        ends = [
            str(found.event),
            here["position"] if found.event == event else str(found.event + 1),
        ]
    else:
        ends = _behind_events(one, here, last) if forward else []
    position = _between(one, ends, forward) if ends else None
    if forward:
        until = found.event if found is not None else last if position else float("inf")
        one.known = _Known(one.was, last, event, until, position)
    return position


def _place(here: dict[str, Any], event: int) -> str:
    """The event as a position, or here if the event is not ahead."""
    return str(here["position"]) if event <= here["event"] else str(event)


def _behind_events(one: _Watched, here: dict[str, Any], last: int) -> list[str]:
    """Two positions, if the value changes between the last event and the end; else empty."""
    end = place.seek("END")["position"]
    return [_place(here, last), end] if one.verdict()[0] == "good" else []


def _between(one: _Watched, ends: list[str], forward: bool) -> str:
    one.turned = not forward
    request = {"between": ends, "last": not forward}
    with link.calm(), raising():
        answer = link.ask("bisect-start", json.dumps(request).encode("utf-8").hex())
        while "ask" in answer:
            if link.pressed():
                raise gdb.GdbError("Interrupted; still where you were.")
            place.forget(answer)
            answer = link.ask("bisect-answer", ":".join(one.verdict()))
        place.forget(answer)
    return str(answer["after_at"] if forward else answer["before"])


def back(event: Any = None) -> None:
    """Enables GDB's watchpoints again; after a stop, prints those that have changed."""
    going = [one for one in _going if one.point.is_valid()]
    if not _going or not link.opened():
        return
    link.ask("until")
    _going.clear()
    with history.log.unnoticed():
        for one in going:
            now = one.shown()
            if event is not None and now != one.was and now is not None:
                _say(one, now)
            if scopes.in_scope(one.point):
                with scopes.selected(one.point):
                    one.point.enabled = True
            else:
                scopes.park(one.point)


def _say(one: _Watched, now: str) -> None:
    gdb.write(
        f"\nWatchpoint {one.point.number}: {one.expression}\n\n"
        f"Old value = {one.was or '<undefined>'}\nNew value = {now}\n"
    )
    for element in one.decided:
        gdb.write(f"rdb: {element}\n")


def forget() -> None:
    """Drops all: another recording was opened."""
    _watched.clear()
    _going.clear()


@at_load
def define() -> None:
    gdb.events.breakpoint_created.connect(created)
    gdb.events.stop.connect(back)
    gdb.events.before_prompt.connect(back)
    gdb.execute(_HOOK, to_string=True)
