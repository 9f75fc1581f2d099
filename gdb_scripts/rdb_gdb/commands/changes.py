"""changes: all changes of a value."""

from __future__ import annotations

from typing import Any

import gdb

from .. import link
from ..search import last_calls, searching
from ..search.watched import Watched
from ..state import place
from .command import Command, command

_LIMIT = 200


@command("changes", gdb.COMMAND_DATA)
class Changes(Command):
    """List the changes of a value: changes EXPRESSION [--from POS] [--to POS] [--limit N]
    Shows for each change the values before and after, the position right after it, which `goto`
    takes, and the line, or the event (a read, a receive), that wrote it: a line of the program's
    own code, also where a library wrote it.  The whole recording is searched, for a local variable
    the life of its frame; at most N changes (200) are shown.  To list more, give the last position
    shown to `--from`.  POS is as for `goto`.  All processors search, or --jobs N.  Ctrl-C shows
    what was found by then."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        usage = "changes EXPRESSION [--from POSITION] [--to POSITION] [--limit N] [--jobs N]"
        options = searching.Options(argument, usage, values="--from --to --limit --jobs")
        text = options.need_text()
        link.connection()
        watched = Watched(text)
        if watched.said:
            gdb.write(f"({watched.said})\n")
        start, end = options.position("--from"), options.position("--to")
        frame = watched.frame() if start is None and end is None else None
        limit = options.count("--limit", _LIMIT)
        answer = searching.ask(
            "changes",
            **watched.options(),
            **{"from": start, "to": end, "limit": limit, "frame": frame},
            jobs=options.jobs,
        )
        with link.calm():
            _name_writers(answer)
        gdb.write(as_text(watched, answer))


def _name_writers(answer: dict[str, Any]) -> None:
    """Makes "by" of each change the line or the event that made it.

    The rank goes to before the changes that a library made, and back.
    """
    rows = [row for row in answer["rows"] if not row["by"]]
    for row in rows:
        row["by"] = searching.line_at(row["pc"] - 1)
    inside = [row for row in rows if not last_calls.is_own_line(row["pc"] - 1)]
    if not inside:
        return
    progress = searching.Progress("changes")
    with place.and_back():
        for number, row in enumerate(inside):
            if link.pressed():
                answer["interrupted"] = True
                break
            progress.say(number / len(inside), ", lines of the program's own code")
            place.forget(link.ask("seek", row["position"]))
            place.forget(searching.ask("step-back"))
            row["by"] = last_calls.short() or row["by"]
    progress.end()


def as_text(watched: Watched, answer: dict[str, Any]) -> str:
    rows = [
        [
            str(number),
            row["position"],
            watched.shown(row["was"]),
            watched.shown(row["now"]),
            row["by"],
        ]
        for number, row in enumerate(answer["rows"], start=1)
    ]
    text = ""
    if rows:
        text = searching.table(["#", "position", "was", "now", "by"], rows)
    if answer["interrupted"]:
        return f"{text}{searching.INTERRUPTED}  {len(rows)} changes\n"
    if answer["more"]:
        return f"{text}There are more: --from {rows[-1][1]}, or --limit N\n"
    if not rows:
        return f"{watched.text} does not change in this part of the recording.\n"
    return f"{text}{len(rows)} change{'' if len(rows) == 1 else 's'}\n"
