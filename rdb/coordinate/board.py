"""The board of a job without a log: a mapped file on which its ranks agree on checkpoints.

The layout is that of interposer/restart/checkpoint/board.h.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from rdb.errors import DamagedRecording
from rdb.process_stat import lives, process_stat

_MAGIC, _VERSION = 0x6472616F62626472, 8
_HEAD = struct.Struct("<QIIQQQIi512s")
_SLOT = struct.Struct("<Ii64s21Q")
_CLOCK = struct.Struct("<QQ")
_CLOCKS = 1000
_PAGE = 4096
_WANTED_AT, _VERDICT_AT, _COMMITTED_AT, _RELAYED_AT, _RELAY_AT, _WHY_AT = 16, 24, 32, 40, 44, 48
_WHY_BYTES = 512
_STILL_S = 10.0  # as STILL_NS in interposer/record/checkpoints.c
_AGREED_AT = _SLOT.size - 16
_FAILED_AT = struct.calcsize("<Ii64s7Q")
_SLOT_BYTES = (_SLOT.size + _CLOCKS * _CLOCK.size + _PAGE - 1) & ~(_PAGE - 1)


class Verdict(IntEnum):
    OPEN = 0
    GO = 1
    NO = 2


class State(IntEnum):
    ABSENT = 0
    RUNS = 1
    HELD = 2
    GONE = 3


@dataclass(frozen=True, slots=True)
class Slot:
    """What one rank says about itself.  `stood_ns` and `fork_ns` are durations."""

    state: State
    pid: int
    host: str
    started: int
    moves: int
    sent: int
    received: int
    pending: int
    objects: int
    imaged: int
    written: int
    failed: int
    stood_ns: int
    fork_ns: int
    writer: int
    """The process that writes the newest image; 0: none yet."""
    writer_started: int
    calls: bool
    """It runs the program's callbacks before a checkpoint."""
    clocks: dict[int, int]
    """Communicator -> number of collectives that this rank has begun for good (board_count())."""

    @property
    def there(self) -> bool:
        return self.state in (State.RUNS, State.HELD)

    @property
    def lives(self) -> bool:
        """Whether the rank, which is one of this host, has not ended."""
        return self.there and lives(self.pid, self.started)

    @property
    def writes(self) -> bool:
        """Whether the process that writes the rank's image lives; the rank is of this host."""
        return bool(self.writer) and lives(self.writer, self.writer_started)


class Writing:
    """Whether processes of this host still write a checkpoint of a rank that may have ended.

    One that gets no processor time for a long time hangs, and is waited for no longer.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._used = -1
        self._since_s = 0.0

    def goes_on(self) -> bool:
        if not self._board.may_finish(self._board.wanted):
            return False
        writers = {slot.writer for slot in self._board.slots() if slot.writer}
        used = sum(stat.used_ticks for one in writers if (stat := process_stat(one)))
        now = time.monotonic()
        if used != self._used:
            self._used, self._since_s = used, now
        return now - self._since_s < _STILL_S


def board_path(job: str | os.PathLike[str], host: str | None = None) -> Path:
    """The board of HOST's ranks if the job has several hosts (HOST given), else the job's board."""
    return Path(job) / ("board" if host is None else f"board-{host}")


def create_board(path: Path, nranks: int) -> None:
    """Makes the board as a host's first rank would.

    The file appears complete, unless a rank has made it meanwhile; then its head is written again.
    """
    from rdb.temporary import temporary  # late imports, here and below: joining.py imports this

    own = temporary(path.parent, path.name)
    _make(own, nranks, path.name != "board")
    try:
        os.link(own, path)
    except FileExistsError:
        _make(path, nranks, path.name != "board")
    finally:
        own.unlink()


def _make(path: Path, nranks: int, relayed: bool) -> None:
    from rdb.private import opener

    with open(path, "a+b", opener=opener) as file:
        file.truncate(max(file.seek(0, os.SEEK_END), _PAGE + nranks * _SLOT_BYTES))
        with mmap.mmap(file.fileno(), 0) as seen:
            struct.pack_into("<I", seen, _RELAYED_AT, relayed)
            struct.pack_into("<QII", seen, 0, _MAGIC, _VERSION, nranks)


def parse_slot(data: bytes) -> Slot:
    state, pid, host, *counts, nclocks = _SLOT.unpack_from(data)
    clocks = (_CLOCK.unpack_from(data, _SLOT.size + at * _CLOCK.size) for at in range(nclocks))
    name = host.split(b"\0")[0].decode(errors="replace")
    inside, started, writer, writer_started, _points, calls, _agreed = counts[13:]
    moves, sent, received, pending, objects, imaged, written, failed, stood_ns, fork_ns = counts[
        :10
    ]
    return Slot(
        State(state),
        pid,
        name,
        started,
        moves,
        sent,
        received,
        pending,
        objects,
        imaged,
        written,
        failed,
        stood_ns,
        fork_ns,
        writer,
        writer_started,
        bool(calls),
        {comm: count - (comm == inside and count > 0) for comm, count in clocks},
    )


class Board:
    """A mapped board.  Nothing is cached: each call reads the file's current content.

    DamagedRecording: the file is no board, or of another version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("r+b") as file:
            empty = os.fstat(file.fileno()).st_size < _PAGE + _SLOT_BYTES
            if not empty:
                self._map = mmap.mmap(file.fileno(), 0)
        if empty:
            raise DamagedRecording(f"{path}: expected a slot of a rank at offset {_PAGE}")
        magic, version, self.nranks, *_ = _HEAD.unpack_from(self._map, 0)
        if magic != _MAGIC or len(self._map) < _PAGE + self.nranks * _SLOT_BYTES:
            raise DamagedRecording(f"{path}: expected the head of a board at offset 0")
        if version != _VERSION:
            raise DamagedRecording(f"{path}: board v{version}, this rdb reads v{_VERSION}")

    def _call(self, name: str, *arguments: int | bytes | None) -> bool:
        """A function of board_words.c."""
        from rdb.recording.log.library import log_library

        ffi, library = log_library()
        known = [ffi.NULL if one is None else one for one in arguments]
        return bool(getattr(library, name)(ffi.from_buffer(self._map), *known))

    def _number(self, at: int) -> int:
        return int(struct.unpack_from("<Q", self._map, at)[0])

    @property
    def wanted(self) -> int:
        return self._number(_WANTED_AT)

    @property
    def committed(self) -> int:
        return self._number(_COMMITTED_AT)

    def busy(self) -> bool:
        """Whether a checkpoint is under way: not refused, and neither whole nor failed."""
        wanted = self.wanted
        if not wanted or self.committed >= wanted:
            return False
        verdict = self.verdict(wanted)
        return verdict is Verdict.OPEN or (
            verdict is Verdict.GO and not any(slot.failed >= wanted for slot in self.slots())
        )

    def may_finish(self, generation: int) -> bool:
        """Whether something of this host may yet finish checkpoint GENERATION.

        A rank may, and a process that writes for one.
        """
        host = os.uname().nodename
        # looked at first: what a process says it says before it ends
        there = any(
            slot.host == host and (slot.writes or (slot.lives and slot.imaged < generation))
            for slot in self.slots()
        )
        return (
            there
            and self.committed < generation
            and not any(slot.failed >= generation for slot in self.slots())
        )

    @property
    def why(self) -> str:
        """Why the newest refused checkpoint was not taken."""
        text = self._map[_WHY_AT : _WHY_AT + _WHY_BYTES]
        return text.split(b"\0")[0].decode(errors="replace")

    def verdict(self, generation: int) -> Verdict:
        value = self._number(_VERDICT_AT)
        if value >> 2 == generation:
            return Verdict(value & 3)
        return Verdict.NO if value >> 2 > generation else Verdict.OPEN

    def raw(self, rank: int) -> bytes:
        """The used part of a slot, as bytes."""
        at = _PAGE + rank * _SLOT_BYTES
        head = self._map[at : at + _SLOT.size]
        nclocks = min(_SLOT.unpack(head)[-1], _CLOCKS)
        return head + self._map[at + _SLOT.size : at + _SLOT.size + nclocks * _CLOCK.size]

    def put_raw(self, rank: int, data: bytes) -> None:
        """Writes the slot of a rank of another host."""
        at = _PAGE + rank * _SLOT_BYTES
        self._map[at : at + min(len(data), _SLOT_BYTES)] = data[:_SLOT_BYTES]

    def slot(self, rank: int) -> Slot:
        try:
            return parse_slot(self.raw(rank))
        except (ValueError, struct.error):
            at = _PAGE + rank * _SLOT_BYTES
            raise DamagedRecording(
                f"{self._path}: expected a slot of a rank at offset {at}"
            ) from None

    def slots(self) -> list[Slot]:
        return [self.slot(rank) for rank in range(self.nranks)]

    def want(self, generation: int | None = None) -> int:
        """Asks for a checkpoint and returns its number.

        Without GENERATION it is the checkpoint under way, if any, so two callers at once get the
        same.
        """
        wanted = self.wanted
        if generation is None:
            if wanted and self.verdict(wanted) is Verdict.OPEN:
                return wanted
            generation = wanted + 1
        self._call("board_want", generation)
        return generation

    def decide(
        self, generation: int, verdict: Verdict, why: str = "", moves: Sequence[int] = ()
    ) -> bool:
        """Writes the verdict about a checkpoint, which the ranks then read.

        The first verdict stands, whoever wrote it: False if that is another one.  MOVES: with GO on
        several hosts, each rank's `moves` at which it was seen held.
        """
        for rank, seen in enumerate(moves):
            at = _PAGE + rank * _SLOT_BYTES + _AGREED_AT
            struct.pack_into("<Q", self._map, at, seen)
        return self._call("board_decide", generation, verdict, why.encode() or None)

    def fail(self, rank: int, generation: int) -> None:
        """Says for a rank of this host that checkpoint GENERATION could not be written."""
        at = _PAGE + rank * _SLOT_BYTES + _FAILED_AT
        struct.pack_into("<Q", self._map, at, generation)

    def commit(self, generation: int) -> None:
        struct.pack_into("<Q", self._map, _COMMITTED_AT, generation)

    @property
    def relay(self) -> int:
        """The process that speaks for the ranks of this host; 0: none."""
        return int(struct.unpack_from("<i", self._map, _RELAY_AT)[0])

    def speak(self, pid: int) -> None:
        """PID: the process that speaks for the ranks of this host."""
        struct.pack_into("<i", self._map, _RELAY_AT, pid)
