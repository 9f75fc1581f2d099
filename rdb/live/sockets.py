"""Sockets between the ranks of a job: bytes are read only after they were written.

Both ends of a connection have the same key (interposer/restart/sockets/sockets.c), made of what the
recording noted at connect(2) and accept(2). The ranks find out which bytes are under way at a cut
when they go on; this module only orders their events.
"""

from __future__ import annotations

import socket
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rdb.live import descriptors
from rdb.recording import Job, RankRecording
from rdb.recording.log.record import NEVER, Kind, Note, Record

_NOTE = struct.Struct("<iHH112s112s")  # struct rdb_note_socket
# x86-64 system calls
_READ, _WRITE, _READV, _WRITEV = 0, 1, 19, 20
_CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN, _LISTEN = 42, 43, 288, 48, 50
_SOCKET, _TYPES = 41, 15
_SENDTO, _RECVFROM, _SENDMSG, _RECVMSG, SENDMMSG, RECVMMSG = 44, 45, 46, 47, 307, 299
_READS = frozenset({_READ, _READV, _RECVFROM, _RECVMSG, RECVMMSG})
_WRITES = frozenset({_WRITE, _WRITEV, _SENDTO, _SENDMSG, SENDMMSG})
_CALLS = (
    *descriptors.CALLS,
    *(_CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN, _SOCKET),
    *_READS,
    *_WRITES,
)
_USES = (_CONNECT, _ACCEPT, _ACCEPT4, _LISTEN)
_FLAGS_AT = {_RECVFROM: 3, _RECVMSG: 2, RECVMMSG: 3}
_MMSGHDR = struct.Struct("<56xI4x")  # its msg_len
_PEEK = 2  # MSG_PEEK
_IN_PROGRESS = -115
_SHUT_RD = 0


@dataclass
class End:
    """One end of a connection."""

    key: str
    connects: bool
    begun: int
    ended: int = NEVER
    """The event after which this end writes no more."""
    closed: int = NEVER
    """The event after which no descriptor of this end is open."""
    read: int = 0
    written: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)
    """Event of each read, and total bytes read by then."""
    writes: list[tuple[int, int]] = field(default_factory=list)
    eof: int = NEVER


def uses_sockets(recording: RankRecording, until: int | None = None) -> bool:
    """Whether the program has connected, accepted or listened by event UNTIL.

    Failed calls do not count: programs look for daemons that do not run.
    """
    if begun_sockets(recording.path):
        return True
    index = recording.index
    return any(
        (record := index.record(place)).result >= 0 or record.result == _IN_PROGRESS
        for place in index.of_calls(*_USES)
        if until is None or index.brief(place)[1] <= until
    )


def listened_to(recording: RankRecording) -> Iterator[int]:
    """Ports of listen(2), as the call found them."""
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
    datagrams: set[int] = set()  # sockets without a peer's end
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
    """What a branch began with, as words (interposer/restart/sockets/sockets_begun.c)."""
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
    if written:  # its bytes that the peer had not read
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
    elif number in descriptors.CALLS:
        for one in descriptors.follow(numbers, record):
            if one not in numbers.values():
                one.ended = min(one.ended, record.event)
                one.closed = record.event
    elif end is None:
        return
    elif number == _SHUTDOWN and record.args[1] != _SHUT_RD:
        end.ended = min(end.ended, record.event)
    elif number in _READS:
        if number in _FLAGS_AT and record.args[_FLAGS_AT[number]] & _PEEK:
            return
        moved = moved_bytes(record)
        if not moved or not moved[-1]:
            end.eof = min(end.eof, record.event)
        for event in range(record.event, record.event + record.repeat + 1):
            end.read += sum(moved)
            end.reads.append((event, end.read))
    elif number in _WRITES:
        for event in range(record.event, record.event + record.repeat + 1):
            end.written += sum(moved_bytes(record))
            end.writes.append((event, end.written))


def moved_bytes(record: Record) -> list[int]:
    """The bytes that a call has read or written, of each message if there may be several."""
    if record.nr not in (SENDMMSG, RECVMMSG):
        return [record.result]
    data = record.written(record.args[1], _MMSGHDR.size * record.result)
    return [size for (size,) in _MMSGHDR.iter_unpack(data)]


def _note(record: Record) -> tuple[int, int, int, bytes, bytes] | None:
    """pid, lengths of both addresses, local address, peer's address; None: no note."""
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
    """As print_address() in interposer/restart/sockets/sockets.c."""
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
    """Rank, its event, another rank, and the event of that rank which must come before."""
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
