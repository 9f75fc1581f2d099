"""The picture as a trace for the Perfetto UI (ui.perfetto.dev) or chrome://tracing.

The format is Google's Trace Event Format.  Ranks are processes, calls are complete events (`X`) of
threads, messages are flows (`s`, `f`), marks are instants (`i`).  Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdb.picture.collect import Picture


def trace(picture: Picture) -> dict[str, Any]:
    """The whole trace as a JSON object."""
    return {
        "traceEvents": list(_events(picture)),
        "displayTimeUnit": "ns",
        "otherData": {"job": picture.name, "command": picture.command},
    }


def _events(picture: Picture) -> Iterator[dict[str, Any]]:
    start_ns = min((lane.start_ns for lane in picture.lanes), default=0)

    def us(at_ns: int) -> float:
        return (at_ns - start_ns) / 1000

    for lane in picture.lanes:
        of = {"pid": lane.rank, "tid": 0}
        name = {"name": f"rank {lane.rank} ({lane.state})"}
        yield {"ph": "M", "name": "process_name", **of, "args": name}
        yield {"ph": "M", "name": "process_sort_index", **of, "args": {"sort_index": lane.rank}}
        for thread in sorted({one.thread for one in lane.slices}):
            title = {"name": "calls" if thread == 1 else f"calls of thread {thread}"}
            yield {"ph": "M", "name": "thread_name", **of, "tid": thread, "args": title}
        for one in lane.slices:
            arguments: dict[str, Any] = {"event": one.event}
            if one.times > 1:
                arguments["times"] = one.times
            yield {
                "ph": "X",
                "name": one.name,
                "cat": one.kind,
                **of,
                "tid": one.thread,
                "ts": us(one.start_ns),
                "dur": (one.end_ns - one.start_ns) / 1000,
                "args": arguments,
            }
        for mark in lane.marks:
            yield {
                "ph": "i",
                "s": "p",
                "name": mark.name,
                "cat": mark.kind,
                **of,
                "ts": us(mark.at_ns),
                "args": {"event": mark.event},
            }
    for number, arrow in enumerate(picture.arrows, start=1):
        source, dest = picture.lanes[arrow.source], picture.lanes[arrow.dest]
        send, receive = source.slices[arrow.send], dest.slices[arrow.receive]
        flow = {"cat": "message", "name": f"tag {arrow.tag}", "id": number}
        about = {"tag": arrow.tag, "bytes": arrow.size_bytes, "communicator": arrow.comm}
        yield {
            "ph": "s",
            **flow,
            "pid": source.rank,
            "tid": send.thread,
            "ts": us(send.start_ns),
            "args": about,
        }
        yield {
            "ph": "f",
            "bp": "e",
            **flow,
            "pid": dest.rank,
            "tid": receive.thread,
            "ts": us(max(receive.start_ns, receive.end_ns - 1)),
            "args": about,
        }
