"""Where a restart begins: what a user may write after --at, as an event of a rank."""

from __future__ import annotations

import re

from rdb.errors import UnknownJob, Usage
from rdb.recording import RankRecording
from rdb.timeline.position import Position

_TIME = re.compile(r"(\d+(?:\.\d+)?)s\Z")


def names_an_event(text: str | None) -> bool:
    """Is that event meant and no other?  A checkpoint, a time and the end say about when."""
    return text not in (None, "end") and not (text.startswith("ckpt:") or _TIME.match(text))


def cut_event(recording: RankRecording, text: str | None) -> int:
    """`ckpt:2`, `1500`, `1500:PC:N` (its event), `2.5s` since the start, `end` (the default)."""
    last = recording.last_event
    if text is None or text == "end":
        return last
    if text.startswith("ckpt:"):
        known = {str(number): event for number, event in recording.checkpoints}
        number = text.removeprefix("ckpt:")
        if number not in known:
            raise UnknownJob(
                f"rank {recording.name} has no checkpoint {number}",
                f"it has {', '.join(known) or 'none'}",
            )
        return known[number]
    time = _TIME.match(text)
    if time is not None:
        return _at_time(recording, float(time[1]))
    try:
        event = Position.parse(text).event
    except Usage as error:
        raise Usage(
            f"--at {text}: no place in a recording",
            "--at takes ckpt:2, an event (1500), seconds since the start (2.5s), or end",
        ) from error
    if not recording.first_event <= event <= last:
        raise UnknownJob(
            f"rank {recording.name} has no event {event}",
            f"its events are {recording.first_event} to {last}",
        )
    return event


def _at_time(recording: RankRecording, seconds: float) -> int:
    """The last event that was answered by then."""
    until_ns = int(recording.meta.get("started_ns", 0)) + int(seconds * 1e9)
    found = recording.first_event
    for record in recording.records():
        if record.kind.is_event:
            if record.at_ns > until_ns:
                break
            found = record.event + record.repeat
    return found
