"""`rdb timeline`: what the page and the trace say of a job; `make test-page` has a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jobstore import RANKS, Store

from rdb.picture.collect import Arrow, Lane, Picture, Slice
from rdb.picture.perfetto import trace

COUNTER = "nonstop_tsc" in Path("/proc/cpuinfo").read_text()


@pytest.fixture(scope="module")
def page(store: Store, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("picture") / "t.html"
    done = store.rdb("timeline", "causal", "-o", str(path), "--bookmark", "a <b>=1:3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: {RANKS} ranks, ")
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_needs_nothing_else(page: str) -> None:
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)\s*=|https?:|@import|url\(", page)
    assert "@DATA@" not in page and "@SCRIPT@" not in page


def test_the_page_has_calls_messages_collectives_and_marks(page: str, store: Store) -> None:
    data = data_of(page)
    names, kinds = data["names"], data["kinds"]
    zero, one, _ = data["lanes"]
    calls = [names[name] for name in zero["name"]]
    assert calls == [
        *("MPI_Init", "MPI_Comm_rank", "MPI_Irecv", "MPI_Send", "MPI_Wait"),
        *("MPI_Barrier", "MPI_Finalize"),
    ]
    assert [kinds[kind] for kind in zero["kind"]][2:6] == ["receive", "send", "wait", "collective"]
    assert zero["times"] == {"3": 5}
    # Calls of a rank come one after the other.
    for lane in data["lanes"]:
        ends = [start + took for start, took in zip(lane["from"], lane["took"], strict=True)]
        assert all(end <= start for end, start in zip(ends, lane["from"][1:], strict=False))
        # Without such a counter it is not known how long calls took.
        assert not COUNTER or lane["took"][0] > 0, "MPI_Init takes its time"
    # lane and slice of the send and of the receive, tag, bytes
    messages = sorted(tuple(arrow[:6]) for arrow in data["arrows"])
    first = [names[name] for name in one["name"]].index("MPI_Recv")
    assert messages == [
        *((0, 3, 1, first + number, 7, 4) for number in range(5)),
        (1, first + 5, 0, 4, 8, 4),
    ]
    (gathering,) = data["gatherings"]
    assert data["comms"][gathering[0]] == "MPI_COMM_WORLD" and len(gathering[1]) == 2 * RANKS
    marks = [mark[2:] for mark in one["marks"]]
    assert ["checkpoint", "checkpoint 0"] in marks and ["bookmark", "a <b>"] in marks


def test_the_trace_for_perfetto(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    done = store.rdb("timeline", "causal", "--format", "perfetto", "-o", str(path))
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in slices} == set(range(RANKS))
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in slices)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(starts) == 6 and starts.keys() == ends.keys()
    for number, end in ends.items():
        start = starts[number]
        assert end["ts"] >= start["ts"] and end["bp"] == "e"
        # Both ends are inside of a call of their rank, which is how the viewer binds them.
        for one in (start, end):
            assert any(
                call["pid"] == one["pid"] and call["ts"] <= one["ts"] <= call["ts"] + call["dur"]
                for call in slices
            )


def test_calls_of_two_threads_at_a_time_are_of_two_threads_in_the_trace() -> None:
    """The viewer wants the calls of one thread to nest."""

    def call(start: int, end: int, event: int, thread: int) -> Slice:
        return Slice(start, end, event, "MPI_Send", "send", 1, thread, True)

    lane = Lane(3, "exited 0", 9, 0, 9, [call(1, 5, 1, 1), call(3, 7, 2, 2), call(6, 9, 3, 1)])
    arrow = Arrow(0, 1, 0, 2, 7, 8, "MPI_COMM_WORLD", 2, 3)
    events = trace(Picture("job", "./job", [lane], [arrow], [], []))["traceEvents"]
    assert [one["tid"] for one in events if one["ph"] == "X"] == [1, 2, 1]
    assert [one["tid"] for one in events if one["ph"] in "sf"] == [2, 1]
    named = [one["tid"] for one in events if one["name"] == "thread_name"]
    assert named == [1, 2]


def test_a_bookmark_that_is_not_there_is_refused(store: Store) -> None:
    done = store.rdb("timeline", "causal", "--bookmark", "x=0")
    assert done.returncode == 2 and "is not a bookmark" in done.stderr
    done = store.rdb("timeline", "causal", "--bookmark", "x=0:99999")
    assert done.returncode == 4 and "has no event 99999" in done.stderr
