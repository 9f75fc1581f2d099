"""find-event: to the event that a query is true of."""

from __future__ import annotations

import gdb

from . import history, link, place, searching
from .command import Command, typed

_LIST_MAX = 200


class FindEvent(Command):
    """Go to the next event that a query is true of: find-event QUERY [--prev|--all|--count]
    QUERY is the name of a call or a kind of event, a condition, or both:
      find-event mpi.recv source==3
      find-event read fd==3 and result<0
      find-event receive source==3 and bytes>1000
      find-event openat 'passwd' in path
    Names: a system call (read), an MPI function (mpi.recv), mpi, syscall, signal, SIGUSR1, tsc;
    receive and send are true of any event that received or posted a message.
    Fields: kind, name, rank, thread, event, result, errno, time (seconds from the start), fd, path,
    bytes, source, dest, tag, arg0 to arg5, and the parameters of MPI functions by name.
    --prev looks backwards, --all lists (--limit N of them, 200), --count counts; neither moves.
    You come to stand right after the event was answered."""

    name = "find-event"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        usage = "find-event QUERY [--next|--prev|--all|--count] [--limit N]"
        options = searching.Options(argument, usage, "--next --prev --all --count", "--limit")
        query = options.need_text()
        link.connection()
        if "--all" in options or "--count" in options:
            self._list(query, "--count" in options, options.count("--limit", _LIST_MAX))
            return
        way = "prev" if "--prev" in options else "next"
        with history.log.command(typed("find-event", argument)):
            answer = searching.ask("find-event", query=query, way=way, limit=1)
            if not answer["rows"]:
                if answer["interrupted"]:
                    raise gdb.GdbError("Interrupted; still where you were.")
                side = "before" if way == "prev" else "after"
                raise gdb.GdbError(f"No event {side} this one is: {query}")
            row = answer["rows"][0]
            place.seek(str(row["event"]))
            gdb.write(f"Event {row['event']}: {row['text']}\n")
            place.show()

    def _list(self, query: str, count_only: bool, limit: int) -> None:
        limit = 0 if count_only else limit
        answer = searching.ask("find-event", query=query, way="all", limit=limit)
        rows = [[str(row["event"]), row["text"]] for row in answer["rows"]]
        if rows:
            gdb.write(searching.table(["event", "what"], rows))
        count = answer["count"]
        records = answer["records"]
        more = f", {len(rows)} shown" if rows and records > len(rows) else ""
        gdb.write(f"{count} event{'' if count == 1 else 's'}{more}\n")
        if answer["interrupted"]:
            gdb.write(f"{searching.INTERRUPTED}\n")


def define() -> None:
    FindEvent()
