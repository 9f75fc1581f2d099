"""find-event: goes to an event of which a query is true."""

from __future__ import annotations

import json
import sys

import gdb

from .. import link
from ..search import predicate_events, searching
from ..state import history, place
from ..values.lookups import Undefined
from .command import Command, command, typed

_LIST_MAX = 200
_WAYS = ("next", "prev", "all", "count")


@command("find-event")
class FindEvent(Command):
    """Go to the next event for which a query is true: find-event QUERY [--prev|--all|--count]
    QUERY is the name of a call or a kind of event, a condition, or both:
      find-event mpi.recv source==3
      find-event read fd==3 and result<0
      find-event receive source==3 and bytes>1000
      find-event openat 'passwd' in path
    Names: a system call (read), an MPI function (mpi.recv), mpi, syscall, signal, SIGUSR1, tsc;
    receive and send are true of any event that received or posted a message.
    Fields: kind, name, rank, thread, event, result, errno, time (seconds from the start), fd, path,
    bytes, source, dest, tag, arg0 to arg5, and the parameters of MPI functions by name.
    rdb evaluates a part with a predicate over arrays, or with a name that is none of these, in the
    program, right after each event for which the rest is true:
      find-event !allfinite(u)
      find-event mpi.send and step > 3
      find-event mpi.recv and max(abs(u)) >= 1e6
    The rank then stands right after the event was answered.  --prev looks backwards.  --all lists
    the events (--limit N of them, 200) and --count counts them; both do not move the rank.
    --json is for programs: it searches the whole recording, does not move the rank, and prints
    what it found."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        usage = "find-event QUERY [--next|--prev|--all|--count] [--limit N]"
        flags = "--next --prev --all --count --json"
        options = searching.Options(argument, usage, flags, "--limit")
        query = options.need_text()
        link.connection()
        ways = [way for way in _WAYS if f"--{way}" in options] or ["next"]
        if len(ways) > 1:
            raise gdb.GdbError(options.usage)
        way, as_json = ways[0], "--json" in options
        limit = options.count("--limit", _LIST_MAX) if way == "all" or not as_json else 1
        if predicate_events.split(query)[1]:
            self._of_program(argument, query, way, limit, as_json)
            return
        if way in ("all", "count") or as_json:
            self._list(query, way, limit, as_json)
            return
        with history.log.command(typed("find-event", argument)):
            answer = searching.ask("find-event", query=query, way=way, limit=1)
            if not answer["rows"]:
                if answer["interrupted"]:
                    raise gdb.GdbError("Interrupted; still where you were.")
                hint = searching.ask("hint-of-names", query=query)["hint"]
                raise gdb.GdbError(_none(way, query) + (f"  ({hint}.)" if hint else ""))
            row = answer["rows"][0]
            place.seek(str(row["event"]))
            gdb.write(f"Event {row['event']}: {row['text']}\n")
            place.show()

    def _of_program(self, argument: str, query: str, way: str, limit: int, as_json: bool) -> None:
        """Searches with an expression of the program, for which the rank must move.  If nothing is
        found, the rank returns to its position."""
        history.log.settle()
        start = history.log.current
        assert start is not None
        search = predicate_events.Search(query)
        here = link.ask("state")
        inside = here["position"].partition(":")[0] != here["position"]
        before = here["event"] - (not inside)
        with history.log.command(typed("find-event", argument)):
            try:
                if way in ("all", "count") or as_json:
                    self._list_of_program(search, way, limit, as_json)
                    place.seek(f"@{start.stop_point}")
                    return
                between: tuple[int, int]
                between = (0, before) if way == "prev" else (here["event"] + 1, sys.maxsize)
                found = next(search.run(*between, backwards=way == "prev"), None)
                if found is None and search.interrupted:
                    raise gdb.GdbError("Interrupted; still where you were.")
                if found is None:
                    raise gdb.GdbError(_none(way, query) + _undefined(search))
            except (gdb.GdbError, gdb.error) as error:
                place.seek(f"@{start.stop_point}")
                if not as_json or not isinstance(error, Undefined):
                    raise
                _write([], 0, str(error), False, "", refused=True)
                return
            place.seek(str(found.event))
            gdb.write(f"Event {found.event}: {found.text}\n")
            if search.bound:
                gdb.write(f"({search.bound})\n")
            place.show()

    def _list_of_program(
        self, search: predicate_events.Search, way: str, limit: int, as_json: bool
    ) -> None:
        count = 0
        rows: list[dict[str, object]] = []
        for found in search.run(0, sys.maxsize, backwards=way == "prev"):
            count += 1
            if way == "count":
                continue
            if len(rows) < limit:
                rows.append({"event": found.event, "text": found.text})
            if as_json and len(rows) == limit:
                break
        if as_json:
            _write(
                rows, count, _undefined(search).removeprefix("; "), search.interrupted, search.bound
            )
            return
        if rows:
            cells = [[str(row["event"]), str(row["text"])] for row in rows]
            gdb.write(searching.table(["event", "what"], cells))
        _say_count(count, len(rows), count, search.interrupted, _undefined(search))

    def _list(self, query: str, way: str, limit: int, as_json: bool) -> None:
        options = {"query": query, "limit": 0 if way == "count" else limit}
        if as_json and way in ("next", "prev"):
            options |= {"way": way, "first": 0, "last": sys.maxsize}
        answer = searching.ask("find-event", **{"way": "all", **options})
        if as_json:
            _write(answer["rows"], answer["count"], "", answer["interrupted"], "")
            return
        rows = [[str(row["event"]), row["text"]] for row in answer["rows"]]
        if rows:
            gdb.write(searching.table(["event", "what"], rows))
        _say_count(answer["count"], len(rows), answer["records"], answer["interrupted"])


def _write(
    rows: list[dict[str, object]],
    count: int,
    undefined: str,
    interrupted: bool,
    bound: str,
    refused: bool = False,
) -> None:
    known = {"rows": rows, "count": count, "undefined": undefined, "interrupted": interrupted}
    gdb.write(json.dumps({**known, "bound": bound, "refused": refused}) + "\n")


def _say_count(count: int, shown: int, records: int, interrupted: bool, more: str = "") -> None:
    some = f", {shown} shown" if shown and records > shown else ""
    gdb.write(f"{count} event{'' if count == 1 else 's'}{some}{more}\n")
    if interrupted:
        gdb.write(f"{searching.INTERRUPTED}\n")


def _none(way: str, query: str) -> str:
    return f"No event {'before' if way == 'prev' else 'after'} this one is: {query}"


def _undefined(search: predicate_events.Search) -> str:
    if not search.undefined:
        return ""
    return f"; undefined at {search.undefined} of {search.looked}: {search.why_undefined}"
