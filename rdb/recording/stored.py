"""Stored files: which ones a recording has mapped, and whether they are unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rdb.errors import DamagedRecording
from rdb.recording.log.index import file_sums
from rdb.recording.log.record import Kind
from rdb.recording.rank import RankRecording


def stored_keys(recording: RankRecording) -> Iterator[str]:
    """Keys of all stored files that the program has mapped, also several of one path."""
    for place in recording.index.of_kind(Kind.FILE):
        for line in recording.index.record(place).text().splitlines():
            if line.startswith("key="):
                yield line.removeprefix("key=")


_BEFORE_A_PROMPT = 64 << 20  # bytes, as in interposer/space/store_check.c


def check_some_stored(files: Path) -> None:
    """Checks stored files, the smallest first, up to 64 MiB: the user waits for a prompt."""
    read = 0
    for path in sorted(_all(files), key=lambda path: (path.stat().st_size, path)):
        read += path.stat().st_size
        if read > _BEFORE_A_PROMPT:
            return
        check_stored(path)


def check_all_stored(files: Path) -> None:
    """Checks all stored files of a job; FILES: its folder files/.

    interposer/space/store_check.c checks those that a replay maps, up to a limit.
    """
    for path in _all(files):
        check_stored(path)


def _all(files: Path) -> list[Path]:
    try:
        return sorted(files.iterdir())
    except OSError as error:
        raise DamagedRecording(f"{files}: {error.strerror}") from error


def check_stored(path: Path) -> None:
    sums = file_sums(path)
    if sums is None or sums[0] == sums[1]:
        return
    (size, crc), (size_now, crc_now) = sums
    raise DamagedRecording(
        f"{path} is not what was recorded: expected {size} bytes, CRC-32C {crc:08x}, found "
        f"{size_now} bytes, {crc_now:08x}",
        "put it back from a copy or a pack of the job, or record again",
    )
