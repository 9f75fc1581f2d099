"""Segments that grow while they are brought from another host."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import deadlines
import pytest
from conftest import Build
from mpijob import record

from rdb.agents import fetching, parts
from rdb.recording.log.index import LogIndex
from rdb.recording.log.segments import grow_segment, segment_end
from rdb.wire.identity import Identity

SEGMENT = "log-000000.seg"
HEADER_BYTES = 32
LOOKS = 100
DEADLINE_S = 90.0
ROOM_BYTES = 4096  # that its writer has left, in these copies
SHORT, CYCLE = 1, 2  # flags in lengths


@dataclass(frozen=True)
class Whole:
    """A rank's segment, and how it came to be: after each record and before each count."""

    folder: Path
    data: bytes
    records: list[tuple[int, int]]

    def after(self, number: int, counted: bool = True) -> bytes:
        """With so many records; not COUNTED: the last one has only just happened."""
        if not number:
            return self.data[:HEADER_BYTES] + bytes(len(self.data) - HEADER_BYTES)
        start, stop = self.records[number - 1]
        grown = bytearray(self.data[:stop] + bytes(len(self.data) - stop))
        if not counted:
            place = self.count_place(start)
            if place is not None:
                grown[place : place + 8] = struct.pack("<II", 0, 0xFFFFFFFF)
        return bytes(grown)

    def count_place(self, start: int) -> int | None:
        """Of a record or a cycle; short records have none."""
        return None if self.data[start] & (SHORT | CYCLE) == SHORT else start + 8

    def states(self) -> Iterator[bytes]:
        for number in range(len(self.records) + 1):
            yield self.after(number, counted=False)
            yield self.after(number)


@pytest.fixture(scope="module")
def whole(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    job = record(
        tmp_path_factory.mktemp("job"), 2, build("mpi/loops.c", "-O1"), "400", hash_every=1000
    )
    folder = job.rank(0).path
    data = (folder / SEGMENT).read_bytes()
    places, at = [], HEADER_BYTES
    while at + 8 <= len(data) and (
        size := struct.unpack_from("<I", data, at)[0] & ~(SHORT | CYCLE)
    ):
        places.append((at, at + size))
        at += size
    found = Whole(folder, data[: places[-1][1] + ROOM_BYTES], places)
    assert len(places) > 100
    counts = [found.count_place(start) for start, _ in places]
    assert sum(place is not None and data[place] > 0 for place in counts) > 0
    return found


@pytest.fixture
def folder(whole: Whole, tmp_path: Path) -> Path:
    """A rank's, as it is before its first record."""
    shutil.copytree(whole.folder, tmp_path / "rank")
    (tmp_path / "rank" / SEGMENT).write_bytes(whole.after(0))
    return tmp_path / "rank"


def test_where_its_records_end(whole: Whole, folder: Path) -> None:
    segment = folder / SEGMENT
    for number, (start, stop) in enumerate(whole.records):
        grown = bytearray(whole.after(number))
        grown[start + 8 : stop] = whole.data[start + 8 : stop]  # its length is not there yet
        segment.write_bytes(grown)
        assert segment_end(segment) == start
    segment.write_bytes(whole.data[: whole.records[-1][1]])  # as its writer leaves it
    assert segment_end(segment) == whole.records[-1][1]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        segment_end(folder / "nowhere")


def test_each_later_copy_is_taken_over(whole: Whole, folder: Path) -> None:
    segment, newer = folder / SEGMENT, folder / "newer"
    for state in [*whole.states(), whole.data[: whole.records[-1][1]]]:
        newer.write_bytes(state)
        grow_segment(segment, newer)
        assert segment.read_bytes() == state
        assert LogIndex(folder).damage is None


def _grows(whole: Whole, segment: Path, seen: Event) -> None:
    newer = segment.with_name("newer")
    until = deadlines.Deadline(DEADLINE_S)
    while not seen.is_set() and not until.over():
        for number in range(0, len(whole.records) + 1, 7):
            newer.write_bytes(whole.after(number))
            grow_segment(segment, newer)
        segment.with_name("again").write_bytes(whole.after(0))
        segment.with_name("again").rename(segment)


def test_who_reads_it_meanwhile_sees_whole_records(whole: Whole, folder: Path) -> None:
    seen = multiprocessing.Event()
    grower = multiprocessing.Process(target=_grows, args=(whole, folder / SEGMENT, seen))
    grower.start()
    counts: list[int] = []
    try:
        while grower.is_alive() and (len(set(counts)) <= 3 or len(counts) < LOOKS):
            index = LogIndex(folder)
            assert index.damage is None
            counts.append(index.count)
    finally:
        seen.set()
        grower.join()
    assert grower.exitcode == 0 and len(set(counts)) > 3


class Far:
    """A host whose rank goes on while its log is read there."""

    def __init__(self, whole: Whole, far: Path, here: Path, step: int) -> None:
        self.job = str(here)
        self._parts = parts.Parts(str(far), Identity(b""))
        self._segment = far / "rank-0" / SEGMENT
        self._states = [whole.after(number) for number in range(0, len(whole.records), step)]
        self._states.append(whole.data)

    async def one(self, _host: str, message: dict[str, Any]) -> tuple[Any, bytes]:
        answer = self._parts.answer(message, b"")
        if message["op"] == "read" and self._states:
            self._segment.write_bytes(self._states.pop(0))
        return answer


@pytest.mark.parametrize("step", [1, 5, 29])
def test_what_grew_while_it_was_brought_is_brought_later(
    whole: Whole, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(parts, "CHUNK_BYTES", 1 << 10)
    far, here = tmp_path / "far", tmp_path / "here"
    for job in (far, here):
        job.mkdir()
        shutil.copytree(folder, job / "rank-0")
    agents: Any = Far(whole, far, here, step)
    copy, before, seen = here / "rank-0" / SEGMENT, 0, []
    while before < len(whole.records):
        listed = [(f"rank-0/{SEGMENT}", 0, 0)]
        assert asyncio.run(fetching.fetch_files(agents, "far", listed)) == 1
        index = LogIndex(copy.parent)
        assert index.damage is None
        seen.append(index.count)
        before = sum(stop <= segment_end(copy) for _, stop in whole.records)
    assert seen == sorted(seen)
    assert copy.read_bytes() == whole.data
    assert sorted(one.name for one in copy.parent.iterdir()) == sorted(
        one.name for one in folder.iterdir()
    )
