"""Sockets between the ranks of a job: what was read had been written.

Both ends of a connection have the same key (interposer/restart/sockets.c), made of what the
recording noted at connect(2) and accept(2).  Which bytes are under way at a cut the ranks find out
when they go on; here is only what orders their events.
"""

from __future__ import annotations

import socket
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rdb.recording import Job, RankRecording
from rdb.recording.log.record import Kind, Note, Record

NEVER = 1 << 62
_NOTE = struct.Struct("<iHH112s112s")  # struct rdb_note_socket
# x86-64 system calls
_READ, _WRITE, _CLOSE, _READV, _WRITEV, _FCNTL = 0, 1, 3, 19, 20, 72
_DUP, _DUP2, _DUP3 = 32, 33, 292
_CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN, _LISTEN = 42, 43, 288, 48, 50
_SOCKET, _TYPES = 41, 15
_SENDTO, _RECVFROM, _SENDMSG, _RECVMSG, _CLOSE_RANGE = 44, 45, 46, 47, 436
_READS = frozenset({_READ, _READV, _RECVFROM, _RECVMSG})
_WRITES = frozenset({_WRITE, _WRITEV, _SENDTO, _SENDMSG})
_CALLS = (
    *(_CLOSE, _FCNTL, _DUP, _DUP2, _DUP3, _CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN, _CLOSE_RANGE),
    _SOCKET,
    *_READS,
    *_WRITES,
)
_USES = (_CONNECT, _ACCEPT, _ACCEPT4, _LISTEN)
_FLAGS_AT = {_RECVFROM: 3, _RECVMSG: 2}
_PEEK = 2  # MSG_PEEK
_F_DUPFD = (0, 1030)
_IN_PROGRESS = -115
_SHUT_RD = 0


@dataclass
class End:
    """One end of a connection."""

    key: str
    connects: bool
    begun: int
    ended: int = NEVER
    """The event after which it writes no more."""
    closed: int = NEVER
    """The event after which nobody has it open."""
    read: int = 0
    written: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)
    """Event, and all that had been read by then."""
    writes: list[tuple[int, int]] = field(default_factory=list)
    eof: int = NEVER


def uses_sockets(recording: RankRecording, until: int | None = None) -> bool:
    """Has it connected, accepted or listened by then?  Not if that failed, as of who looks for a
    daemon that does not run."""
    if begun_sockets(recording.path):
        return True
    index = recording.index
    return any(
        (record := index.record(place)).result >= 0 or record.result == _IN_PROGRESS
        for place in index.of_calls(*_USES)
        if until is None or index.brief(place)[1] <= until
    )


def listened_to(recording: RankRecording) -> Iterator[int]:
    """Ports of listen(2), as it found them."""
    for words in begun_sockets(recording.path):
        if words[0] == "listen":
            yield int(words[1])
    index = recording.index
    for place in index.of_calls(_LISTEN):
        note = _note(index.record(place))
        if note is not None:
            yield struct.unpack_from(">H", note[3], 2)[0]


def ends_of(recording: RankRecording) -> list[End]:
    """All ends of connections that the rank had."""
    ends: list[End] = []
    if not uses_sockets(recording):
        return ends
    numbers: dict[int, End] = {}
    datagrams: set[int] = set()  # sockets without another end
    nth: dict[tuple[bool, str], int] = {}
    for words in begun_sockets(recording.path):
        _begin(words, ends, numbers, datagrams, nth)
    index = recording.index
    for place in index.of_calls(*_CALLS):
        record = index.record(place)
        if record.kind is not Kind.SYSCALL:
            continue
        if record.nr == _SOCKET and record.result >= 0:
            stream = record.args[1] & _TYPES == socket.SOCK_STREAM
            (datagrams.discard if stream else datagrams.add)(record.result)
        elif record.nr == _CONNECT and record.args[0] in datagrams:
            continue
        elif record.result >= 0 or record.result == _IN_PROGRESS:
            _follow(record, numbers, ends, nth)
    return ends


def begun_sockets(recording: Path) -> list[list[str]]:
    """Of a branch what it began with, in words: interposer/restart/sockets_begun.c."""
    try:
        text = (recording / "sockets-begun").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line.split(" ") for line in text.splitlines()]


def _begin(
    words: list[str],
    ends: list[End],
    numbers: dict[int, End],
    datagrams: set[int],
    nth: dict[tuple[bool, str], int],
) -> None:
    if words[0] == "datagrams":
        datagrams.update(map(int, words[1:]))
    if words[0] != "end":
        return
    connects, written, shut, closed = map(int, words[1:5])
    end = End(words[5], bool(connects), 0, written=written)
    if written:  # again, what had not been read
        end.writes.append((0, written))
    if shut or closed:
        end.ended = 0
    if closed:
        end.closed = 0
    ends.append(end)
    numbers.update((int(number), end) for number in words[6:])
    prefix = end.key.rpartition(":")[0] + ":"
    nth[end.connects, prefix] = nth.get((end.connects, prefix), 0) + 1


def _follow(
    record: Record, numbers: dict[int, End], ends: list[End], nth: dict[tuple[bool, str], int]
) -> None:
    number, first = record.nr, record.args[0] if record.args else 0
    end = numbers.get(first)
    if number in (_CONNECT, _ACCEPT, _ACCEPT4):
        made = _end(record, nth)
        if made is not None:
            ends.append(made)
            numbers[record.result if number != _CONNECT else first] = made
    elif number == _CLOSE_RANGE:
        for one in [one for one in numbers if first <= one <= record.args[1]]:
            _close(numbers, one, record.event)
    elif end is None:
        if number in (_DUP2, _DUP3):
            _close(numbers, record.args[1], record.event)
    elif number == _CLOSE:
        _close(numbers, first, record.event)
    elif number in (_DUP, _DUP2, _DUP3) or (number == _FCNTL and record.args[1] in _F_DUPFD):
        numbers[record.result] = end
    elif number == _SHUTDOWN and record.args[1] != _SHUT_RD:
        end.ended = min(end.ended, record.event)
    elif number in _READS:
        if number in _FLAGS_AT and record.args[_FLAGS_AT[number]] & _PEEK:
            return
        if record.result == 0:
            end.eof = min(end.eof, record.event)
        for event in range(record.event, record.event + record.repeat + 1):
            end.read += record.result
            end.reads.append((event, end.read))
    elif number in _WRITES:
        for event in range(record.event, record.event + record.repeat + 1):
            end.written += record.result
            end.writes.append((event, end.written))


def _close(numbers: dict[int, End], number: int, event: int) -> None:
    end = numbers.pop(number, None)
    if end is not None and end not in numbers.values():
        end.ended = min(end.ended, event)
        end.closed = event


def _note(record: Record) -> tuple[int, int, int, bytes, bytes] | None:
    """pid, lengths of both addresses, the local one, the peer's."""
    note = next((one for one in record.chunks if one.addr == 0 and one.note == Note.SOCKET), None)
    return None if note is None else _NOTE.unpack(bytes(note.data))


def end_of(record: Record, nth: dict[tuple[bool, str], int]) -> End | None:
    """The end that connect(2) or accept(2) made."""
    return _end(record, nth)


def _end(record: Record, nth: dict[tuple[bool, str], int]) -> End | None:
    note = _note(record)
    if note is None:
        return None
    pid, local_len, peer_len, local, peer = note
    connects = record.nr == _CONNECT
    first, second = (local, peer) if connects else (peer, local)
    family = int.from_bytes(first[:2] or second[:2], "little")
    family = family or int.from_bytes(second[:2], "little")
    if family != socket.AF_UNIX:
        return End(f"{_address(first)}>{_address(second)}", connects, record.event)
    prefix = f"unix:{pid}:{_path(second[: peer_len if connects else local_len])}:"
    count = nth.get((connects, prefix), 0)
    nth[connects, prefix] = count + 1
    return End(f"{prefix}{count}", connects, record.event)


def _address(data: bytes) -> str:
    """As print_address() in interposer/restart/sockets.c."""
    family, port = struct.unpack_from("<H", data)[0], struct.unpack_from(">H", data, 2)[0]
    if family == socket.AF_INET:
        return f"{socket.inet_ntop(socket.AF_INET, data[4:8])}/{port}"
    if data[8:20] == bytes(10) + b"\xff\xff":
        return f"{socket.inet_ntop(socket.AF_INET, data[20:24])}/{port}"
    return f"{socket.inet_ntop(socket.AF_INET6, data[8:24])}/{port}"


def _path(data: bytes) -> str:
    out = ""
    for byte in data[2:]:
        if byte:
            out += chr(byte) if byte > ord(" ") else "_"
        elif out:
            break
        else:
            out += "@"
    return out[:120]


def needs(job: Job) -> Iterator[tuple[int, int, int, int]]:
    """A rank's event needs that other rank's event."""
    ends = {rank: ends_of(job.rank(rank)) for rank in job.ranks}
    by_key = {(end.key, end.connects): (rank, end) for rank in ends for end in ends[rank]}
    for rank, own in ends.items():
        for end in own:
            other, far = by_key.get((end.key, not end.connects), (rank, None))
            if far is None or other == rank:
                continue
            if not end.connects:
                yield rank, end.begun, other, far.begun
            totals = [total for _, total in far.writes]
            for event, read in end.reads:
                at = bisect_left(totals, read) if read else len(totals)
                if at < len(totals):
                    yield rank, event, other, far.writes[at][0]
            if end.eof != NEVER and far.ended != NEVER:
                yield rank, end.eof, other, far.ended
