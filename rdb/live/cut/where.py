"""Where a restart begins: parses --at, as an event of a rank."""

from __future__ import annotations

import re

from rdb.errors import UnknownJob, Usage
from rdb.recording import RankRecording
from rdb.timeline.position import Position

_TIME = re.compile(r"(\d+(?:\.\d+)?)s\Z")
_ROUNDED_S = 0.01  # times are printed with that precision


def names_an_event(text: str | None) -> bool:
    """Whether TEXT names an exact event; checkpoints, times and `end` are approximate."""
    return text not in (None, "end") and not (text.startswith("ckpt:") or _TIME.match(text))


def cut_event(recording: RankRecording, text: str | None) -> int:
    """The event that TEXT names: `ckpt:2`, `1500`, `1500:PC:N` (its event), `2.5s` since the start,
    `end` (the default).

    Usage: TEXT is malformed. UnknownJob: the recording has no such place.
    """
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
            f"--at {text}: not a place in a recording",
            "--at takes ckpt:2, an event (1500), a position (1500:0x4011d6:3, of which the event "
            "counts), seconds since the start (2.5s), or end",
        ) from error
    if not recording.first_event <= event <= last:
        raise UnknownJob(
            f"rank {recording.name} has no event {event}",
            f"its events are {recording.first_event} to {last}",
        )
    return event


def _at_time(recording: RankRecording, seconds: float) -> int:
    """The last event answered within SECONDS of the start."""
    started_ns = int(recording.meta.get("started_ns", 0))
    found, newest_ns = recording.first_event, started_ns
    for record in recording.records():
        newest_ns = max(newest_ns, record.at_ns)
        if record.kind.is_event and record.at_ns <= started_ns + int(seconds * 1e9):
            found = record.event + record.repeat
    lasted_s = (newest_ns - started_ns) / 1e9
    if seconds > lasted_s + _ROUNDED_S:
        raise UnknownJob(
            f"rank {recording.name} was recorded for {lasted_s:.3f} s, not for {seconds:g} s",
            "--at end is its newest event",
        )
    return found
