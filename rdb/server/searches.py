"""`qRdb.*` requests that search: events of the log, output, changes of bytes, calls.

Searches run on the worker's thread.  An interrupt ends a search; its answer then has what was found
so far, and "interrupted".  `progress` is the answer to `qRdb.poll` during a search.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from rdb.errors import RdbError
from rdb.executor import processors
from rdb.recording import RankRecording
from rdb.recording.log.record import Record
from rdb.recording.log.syscalls import SYSCALLS
from rdb.recording.query.fields import PATH_ARGUMENT
from rdb.recording.query.find import find_events
from rdb.recording.query.names import hint_of_names
from rdb.recording.query.query import Query, of_events
from rdb.replay.arrays import ArrayPlan
from rdb.replay.protocol import Seen
from rdb.server.breakpoints import sp_is
from rdb.server.calling import packed, plan_of
from rdb.server.motion import Motion
from rdb.server.noticed import Lookouts, Noticed
from rdb.server.output import recorded_output
from rdb.timeline import scan
from rdb.timeline.calls import CallSearch, NotPlain
from rdb.timeline.changes import Change, ChangeSearch, Leave
from rdb.timeline.points import Points, Until
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted
from rdb.timeline.timeline import Timeline

Answer = dict[str, Any]
_PATH_MAX = 4096
_NAMING_S = 1.0  # processor time, so that answers do not depend on the load


class Searches:
    def __init__(self, motion: Motion, recording: Any) -> None:
        self._motion = motion
        self._recording = cast(RankRecording, recording)
        self._part = 0.0
        self._seek_part: float | None = None
        self._found = 0
        self._searching = False
        self._users_points: Points | None = None
        self._lookouts = Lookouts()
        self.operations: dict[str, Callable[[str], Answer]] = {
            "hash": lambda text: {"hash": f"{self._timeline.hash():x}"},  # of all upper memory
            "ahead": self._ahead,
            "until": self._until,
            "find-event": self._find_event,
            "of-events": lambda text: dict(
                zip(("of_events", "hint"), of_events(_options(text)["query"]), strict=True)
            ),
            "hint-of-names": lambda text: {
                "hint": hint_of_names(Query(_options(text)["query"]), self._recording)
            },
            "notice": self._notice,
            "same-on": self._same_on,
            "output": self._output,
            "changes": self._changes,
            "first-change": self._first_change,
            "names": self._names,
            "step-back": self._step_back,
            "last-at": self._last_at,
            "calls": self._calls,
            "calls-begin": self._calls_begin,
            "calls-next": self._calls_next,
            "calls-end": self._calls_end,
        }

    def begin(self) -> None:
        """A request begins: forgets an interrupt that ended an earlier one."""
        self._timeline.control.begin()

    def seeking(self) -> None:
        """A seek begins: `progress` now shows the progress of the seek."""

        def hear(what: str, part: float) -> None:
            if what == "seek":
                self._seek_part = part

        self._seek_part = None
        self._timeline.control.progress = hear

    @property
    def progress(self) -> Answer:
        if not self._searching and self._seek_part is not None:
            return {"progress": self._seek_part}
        return {"progress": self._part, "found": self._found} if self._searching else {}

    @property
    def _timeline(self) -> Timeline:
        return self._motion.timeline

    @contextmanager
    def _search(self, answer: Answer) -> Iterator[None]:
        """An interrupt inside ends the search; the answer says so."""
        self._part, self._found, self._searching = 0.0, 0, True
        self._timeline.control.begin()
        answer["interrupted"] = False
        try:
            yield
        except Interrupted:
            answer["interrupted"] = True
        finally:
            self._searching = False

    def use_jobs(self, count: int | None) -> None:
        """Sets how many replicas run at a time; None: one for each processor."""
        self._timeline.travel.jobs = count or processors()

    def _look(self, part: float) -> None:
        self._part = part
        self._timeline.control.check()

    def _ahead(self, event: str) -> Answer:
        """EVENT: the next request will go there, so another replica runs there in the
        background."""
        self._timeline.travel.ahead.prepare((Position(int(event)),))
        return {}

    def _until(self, text: str) -> Answer:
        """{"position", "forward", "passed"}: where the next motions must stop (Until in
        timeline/points.py); empty: no such limit."""
        asked = _options(text)
        until = (
            Until(Position.parse(asked["position"]), asked["forward"], asked["passed"])
            if asked
            else None
        )
        self._timeline.points.until = until
        return {}

    def _find_event(self, text: str) -> Answer:
        """{"query", "way": next|prev|all, "limit", "first", "last"}: events that match a query.

        `rows`: at most "limit" runs of events of one record; `count`: number of events;
        `records`: number of runs.  "first" and "last" bound the search instead of the position.
        """
        asked = _options(text)
        query = Query(asked["query"])
        here, timeline = self._timeline.position, self._timeline
        first, last = timeline.travel.origin.event, timeline.last_event
        if asked["way"] == "next":
            first = here.event + 1
        elif asked["way"] == "prev":
            last = here.event if here.moves else here.event - 1
        first, last = asked.get("first", first), asked.get("last", last)
        rows: list[Answer] = []
        answer: Answer = {"rows": rows, "count": 0, "records": 0}
        with self._search(answer):
            paths = self._path if query.uses_paths else None
            backwards = asked["way"] == "prev"
            for found in find_events(
                self._recording, query, first, last, backwards, self._look, paths
            ):
                answer["count"] += len(found.events)
                answer["records"] += 1
                self._found += len(found.events)
                if len(rows) < asked["limit"]:
                    event = found.events[-1 if backwards else 0]
                    text = self._recording.describe(event, len(found.events))
                    ends = {"first": found.events[0], "last": found.events[-1]}
                    rows.append({"event": event, "at_ns": found.record.at_ns, "text": text, **ends})
                if asked["way"] != "all" and len(rows) == asked["limit"]:
                    break
        return answer

    def _notice(self, text: str) -> Answer:
        """{"fresh": bool}: begins to note what GDB reads, for `same-on`; fresh: the lookouts so far
        belong to other expressions and are dropped."""
        if _options(text)["fresh"]:
            self._lookouts = Lookouts()
        self._motion.noticed = Noticed()
        return {}

    def _same_on(self, text: str) -> Answer:
        """{"folds": [plan, ...], "registers": bits, "last", "fetched": [[address, length], ...],
        "needed": [[address, length], ...]}: how long the value of an expression stays known.

        The evaluation that just ended read memory (noted since `notice`; of the fetched blocks
        only the needed parts count) and registers; with their values it becomes a lookout.  The
        timeline runs over events, at most to "last", while one of the newest lookouts matches.
        `place`: number of the new lookout; null: the value depends on more.  `checked`: the last
        event at which a lookout matched.  `rows`: [event, place, refused, values of folds], each
        valid until the next.  The rank does not move.
        """
        asked, noticed = _options(text), self._motion.noticed
        self._motion.noticed = None
        timeline = self._timeline
        rows: list[Any] = []
        answer: Answer = {"rows": rows, "place": None, "checked": timeline.event}
        answer["interrupted"] = False
        if noticed is None or timeline.position.moves or timeline.branch:
            return answer
        folds = [ArrayPlan.of(one) for one in asked["folds"]]
        noticed.narrow(asked["fetched"], asked["needed"])
        lookout = noticed.lookout(asked["registers"], timeline.gpr, folds)
        if lookout is None:
            return answer
        answer["place"] = self._lookouts.add(lookout)
        most = max(len(one.folds) for one in self._lookouts.all)

        def hear(checked: int, seen: list[Seen]) -> None:
            answer["checked"] = checked
            rows.extend([*one[:3], one.values[:most]] for one in seen)

        with self._search(answer):
            timeline.same_on(self._lookouts.all, asked["last"], hear, self._look)
        return answer

    def _path(self, record: Record) -> str | None:
        """The path argument of a call, from the memory of a replica at the event."""
        place = PATH_ARGUMENT[SYSCALLS[record.nr][0]]
        walker = self._timeline.travel.to(Position(record.event))
        try:
            data = walker.agent.read(record.args[place], _PATH_MAX)
        finally:
            walker.close()
        return data.partition(b"\0")[0].decode(errors="replace")

    def _output(self, text: str) -> Answer:
        """{"since": event or null}: output between that event and the position."""
        since = _options(text).get("since")
        pieces: list[Answer] = []
        answer: Answer = {"output": pieces}
        timeline = self._timeline
        with self._search(answer):
            for event, fd, data in recorded_output(
                timeline.travel, since, timeline.event, self._look
            ):
                pieces.append({"event": event, "fd": fd, "data": data.hex()})
                self._found += 1
        return answer

    def _changes(self, text: str) -> Answer:
        """{"addr", "length", "from", "to", "limit", "frame", "jobs"}: changes of these bytes.

        "frame" is [entry address, stack pointer there, return address] of the function whose local
        the bytes are: changes outside of that call are not listed.
        """
        asked = _options(text)
        rows: list[Answer] = []
        answer: Answer = {"rows": rows, "more": False}
        with self._search(answer):
            search = self._change_search(asked, asked["limit"] + 1)
            for change in search.run(self._look):
                if len(rows) == asked["limit"]:
                    answer["more"] = True
                    break
                rows.append(self._change_row(change))
                self._found += 1
            self._name_some(rows)
        return answer

    def _first_change(self, text: str) -> Answer:
        """As `changes`: goes to just before the first change; "by": the event that made it."""
        asked = _options(text)
        answer: Answer = {"found": False}
        with self._search(answer):
            change = next(self._change_search(asked, 1).run(self._look), None)
            if change is None:
                return answer
        if answer["interrupted"]:
            return answer
        self._motion.seek(str(change.position))
        self._timeline.step(False)
        answer.update(found=True, was=change.was.hex(), now=change.now.hex())
        if change.by_event:
            event = change.position.event
            answer["by"] = event
            answer["describe"] = self._recording.describe(event)
        return answer

    def _change_search(self, asked: Answer, most: int) -> ChangeSearch:
        self.use_jobs(asked.get("jobs"))
        travel = self._timeline.travel
        start = _position(asked["from"]) or travel.origin.position
        end, leave = _position(asked["to"]), None
        if end is None and self._recording.end is None:
            end = Position(travel.last_event)  # killed: what ran after the last event is not known
        if asked["frame"] is not None:
            entry, sp, back = asked["frame"]
            entered = self._entered(entry, sp)
            if entered is None:
                raise RdbError("the start of this frame is not in the recording")
            start, leave = entered, Leave(back, sp_is(sp + 8))
        return ChangeSearch(travel, (asked["addr"], asked["length"]), start, end, leave, most)

    def _entered(self, entry: int, sp: int | None) -> Position | None:
        """The newest position at which the function at `entry` was entered with this stack pointer
        (None: any)."""
        found = self._arrived([entry], sp)
        return None if found is None else found.position

    def _arrived(self, places: list[int], sp: int | None) -> scan.Found | None:
        """The newest arrival at one of these instructions with this stack pointer (None: any)."""
        points, timeline = Points(), self._timeline
        for number, addr in enumerate(places, 1):
            points.set_breakpoint(number, addr, b"" if sp is None else sp_is(sp))
        found = scan.last_hit(timeline.travel, points, timeline.position, timeline.recorded_gpr)
        if found is not None and found.walker is not None:
            found.walker.close()
        return found

    def _change_row(self, change: Change) -> Answer:
        event = change.position.event
        return {
            "position": str(change.position),
            "pc": change.pc,
            "was": change.was.hex(),
            "now": change.now.hex(),
            "by": self._recording.describe(event) if change.by_event else None,
        }

    def _step_back(self, text: str) -> Answer:
        """Goes one instruction or event back."""
        self._motion.changed()
        timeline = self._timeline
        stopped = timeline.step(False)
        return {
            "interrupted": stopped.reason == "interrupt",
            "event": timeline.event,
            "position": str(timeline.position),
            "thread": timeline.thread,
            "threaded": timeline.schedule.threaded,
        }

    def _last_at(self, text: str) -> Answer:
        """{"addr", "sp" or null}: the newest arrival at that instruction, or at one of several,
        with that stack pointer; `registers`: there."""
        asked = _options(text)
        answer: Answer = {"position": None}
        addr = asked["addr"]
        with self._search(answer):
            found = self._arrived(addr if isinstance(addr, list) else [addr], asked["sp"])
            if found is not None:
                answer.update(position=str(found.position), registers=found.gpr._asdict())
        return answer

    def _calls(self, text: str) -> Answer:
        """{"plan", "limit", "jobs"}: calls of a function from here on, with raw argument bytes.

        `plain` is false if this search cannot find them; then use `calls-next`.
        """
        asked = _options(text)
        self.use_jobs(asked["jobs"])
        timeline = self._timeline
        answer: Answer = {"plain": timeline.schedule.plain, "rows": packed([]), "more": False}
        with self._search(answer):
            if not answer["plain"]:
                return answer
            plan = plan_of(asked["plan"])
            travel, start = timeline.travel, timeline.name()
            search = CallSearch(travel, plan, sp_is, start, asked["limit"])

            def look(part: float, found: int) -> None:
                self._found = found
                self._look(part)

            try:
                search.run(look)
            except NotPlain:
                answer["plain"] = False
                return answer
            finally:
                answer["more"] = search.more
                answer["rows"] = packed(search.calls)
        return answer

    def _calls_begin(self, text: str) -> Answer:
        """Replaces the breakpoints by those of `calls-next`, until `calls-end`."""
        if self._users_points is None:
            self._users_points = self._timeline.exchange_points(Points())
        return {}

    def _calls_end(self, text: str) -> Answer:
        if self._users_points is not None:
            self._timeline.exchange_points(self._users_points)
            self._users_points = None
        return {}

    def _calls_next(self, text: str) -> Answer:
        """{"add": [[number, address, stack pointer or null], ...], "remove": [number, ...]}:
        changes the breakpoints and runs to the next hit; `hit`: its number; 0: there is none."""
        asked, timeline = _options(text), self._timeline
        for number in asked["remove"]:
            timeline.clear_breakpoint(number)
        for number, addr, sp in asked["add"]:
            timeline.set_breakpoint(number, addr, b"" if sp is None else sp_is(sp))
        self._motion.changed()
        stopped = timeline.cont(True)
        return {
            "interrupted": stopped.reason == "interrupt",
            "hit": stopped.id if stopped.reason == "breakpoint" else 0,
            "event": timeline.event,
            "position": str(timeline.position),
            "thread": timeline.thread,
            "threaded": timeline.schedule.threaded,
        }

    def _names(self, text: str) -> Answer:
        """{"positions": [[position, pc], ...]}: their canonical names, at least of the first
        ones."""
        rows = [{"position": name, "pc": pc} for name, pc in _options(text)["positions"]]
        answer: Answer = {"names": []}
        with self._search(answer):
            self._name_some(rows)
        answer["names"] = [row["position"] for row in rows]
        return answer

    def _name_some(self, rows: list[Answer]) -> None:
        """Replaces positions by their canonical names, EVENT:PC:N, for at most 1 s of processor
        time."""
        until_s = self._spent_naming_s() + _NAMING_S
        for row in rows:
            if self._spent_naming_s() > until_s:
                return
            position = Position.parse(row["position"])
            row["position"] = str(self._timeline.travel.name(position, row["pc"]))

    def _spent_naming_s(self) -> float:
        return time.thread_time() + self._timeline.travel.naming_s


def _options(text: str) -> Answer:
    """A JSON object in hex."""
    options: Answer = json.loads(bytes.fromhex(text)) if text else {}
    return options


def _position(text: str | None) -> Position | None:
    return None if text is None else Position.parse(text)
