"""The picture as one HTML page, which loads nothing else and needs no network."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from rdb.picture.collect import Lane, Picture

_FILES = Path(__file__).parent / "page"
_SCRIPTS = ("model.js", "view.js", "draw.js", "panel.js", "input.js", "start.js")


def page(picture: Picture) -> str:
    """The whole HTML document."""
    text = (_FILES / "page.html").read_text(encoding="utf-8")
    scripts = "\n".join((_FILES / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    # `</` inside a script element would end it.
    data = json.dumps(columns(picture), separators=(",", ":")).replace("</", "<\\/")
    return (
        text.replace("@TITLE@", html.escape(picture.name))
        .replace("/*@STYLE@*/", (_FILES / "page.css").read_text(encoding="utf-8"))
        .replace("/*@SCRIPT@*/", scripts)
        .replace("@DATA@", data)
    )


def columns(picture: Picture) -> dict[str, Any]:
    """The JSON object that model.js reads: arrays of numbers, times in ns from the start."""
    start_ns = min((lane.start_ns for lane in picture.lanes), default=0)
    names: dict[str, int] = {}
    kinds: dict[str, int] = {}
    comms: dict[str, int] = {}

    def number(known: dict[str, int], name: str) -> int:
        return known.setdefault(name, len(known))

    lanes = [_lane(lane, start_ns, names, kinds) for lane in picture.lanes]
    arrows = [
        [
            one.source,
            one.send,
            one.dest,
            one.receive,
            one.tag,
            one.size_bytes,
            number(comms, one.comm),
            one.sent_at,
            one.received_at,
        ]
        for one in picture.arrows
    ]
    gatherings = [
        [number(comms, one.comm), [part for call in one.calls for part in call]]
        for one in picture.gatherings
    ]
    return {
        "job": picture.name,
        "command": picture.command,
        "startNs": str(start_ns),
        "lanes": lanes,
        "names": list(names),
        "kinds": list(kinds),
        "comms": list(comms),
        "arrows": arrows,
        "gatherings": gatherings,
        "missing": list(picture.missing),
    }


def _lane(
    lane: Lane, start_ns: int, names: dict[str, int], kinds: dict[str, int]
) -> dict[str, Any]:
    return {
        "rank": lane.rank,
        "state": lane.state,
        "events": lane.last_event + 1,
        "start": lane.start_ns - start_ns,
        "end": lane.end_ns - start_ns,
        "from": [one.start_ns - start_ns for one in lane.slices],
        "took": [one.end_ns - one.start_ns for one in lane.slices],
        "event": [one.event for one in lane.slices],
        "name": [names.setdefault(one.name, len(names)) for one in lane.slices],
        "kind": [kinds.setdefault(one.kind, len(kinds)) for one in lane.slices],
        "times": {place: one.times for place, one in enumerate(lane.slices) if one.times > 1},
        "marks": [[one.at_ns - start_ns, one.event, one.kind, one.name] for one in lane.marks],
    }
