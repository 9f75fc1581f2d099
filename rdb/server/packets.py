"""Framing of the GDB remote protocol (GDB manual, E.1): `$data#checksum`, acks, escapes."""

from __future__ import annotations

import os
import select
from collections import deque
from typing import NamedTuple

from rdb.trace import tracer

INTERRUPT = b"\x03"
#: Bytes of packet data we accept and announce (`PacketSize`).
PACKET_SIZE = 0x20000
#: The longest request: rdb's own requests may be longer than announced.
REQUEST_MAX = 16 << 20
SIGNALS_S = 1.0
"""Longest wait in one system call.  Python runs signal handlers between its own instructions: a
signal that comes just before the call is heard after it."""
_KEPT = 64  # bytes kept of a request that is too long, to name it
_ESCAPED = b"}#$*"  # `}` first: escaping the others adds `}`
_trace = tracer("rsp")


def escape(data: bytes) -> bytes:
    """Binary data for a reply, with `#`, `$`, `}` and `*` escaped (GDB manual, E.1)."""
    for byte in _ESCAPED:
        data = data.replace(bytes((byte,)), bytes((0x7D, byte ^ 0x20)))
    return data


def unescape(data: bytes) -> bytes:
    """The inverse of `escape`, for binary data in requests."""
    if b"}" not in data:
        return data
    out = bytearray()
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == 0x7D and position + 1 < len(data):
            position += 1
            byte = data[position] ^ 0x20
        out.append(byte)
        position += 1
    return bytes(out)


def frame(data: bytes) -> bytes:
    return b"$%s#%02x" % (data, sum(data) & 0xFF)


class Packet(NamedTuple):
    """One request, or an interrupt (the lone byte 0x03)."""

    data: bytes
    interrupt: bool = False
    too_long: bool = False
    """It had more than REQUEST_MAX bytes; `data` is its beginning."""


class Connection:
    """Packets over a pair of descriptors (a socket is the same descriptor twice)."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = bytearray()
        self._later: deque[Packet] = deque()
        self._last_sent = b""
        self._too_long = b""  # beginning of a too long request whose end has not come yet
        self.acks = True
        self.closed = False

    def send(self, data: bytes) -> None:
        if _trace:
            _trace(f"-> {data!r}")
        self._last_sent = frame(data)
        self._write(self._last_sent)

    def poll(self) -> Packet | None:
        """The next whole packet in the buffer; None: there is none."""
        while self._buffer:
            if self._buffer[0] == INTERRUPT[0]:
                del self._buffer[:1]
                if _trace:
                    _trace("<- interrupt")
                return Packet(b"", interrupt=True)
            if self._buffer[0] == ord("-") and self.acks and self._last_sent:
                del self._buffer[:1]
                self._write(self._last_sent)
                continue
            start = self._buffer.find(b"$")
            if self._buffer[0] != ord("$"):
                # Acks and noise before a packet are skipped, but not an interrupt among them.
                skip = len(self._buffer) if start < 0 else start
                interrupt = self._buffer.find(INTERRUPT, 0, skip)
                del self._buffer[: skip if interrupt < 0 else interrupt]
                continue
            end = self._buffer.find(b"#")
            if end < 0 or len(self._buffer) < end + 3:
                if end < 0 and len(self._buffer) > REQUEST_MAX:
                    self._too_long = self._too_long or bytes(self._buffer[1 : _KEPT + 1])
                    self._buffer[:] = b"$"
                return None
            # `$` is never data: bytes before a second `$` are a packet that was cut short.
            start = self._buffer.rfind(b"$", 0, end)
            data = bytes(self._buffer[start + 1 : end])
            check = bytes(self._buffer[end + 1 : end + 3])
            del self._buffer[: end + 3]
            begins, self._too_long = self._too_long, b""
            if begins and start == 0:
                if self.acks:
                    self._write(b"+")
                return Packet(begins, too_long=True)
            if self.acks and not _agrees(data, check):
                self._write(b"-")
                continue
            if self.acks:
                self._write(b"+")
            if _trace:
                _trace(f"<- {data!r}")
            return Packet(data)
        return None

    def fill(self) -> None:
        """Reads available bytes; blocks if there are none.  Sets `closed` at the end of input."""
        try:
            chunk = os.read(self.read_fd, 65536)
        except ConnectionResetError:
            chunk = b""
        if chunk:
            self._buffer += chunk
        else:
            self.closed = True

    def keep(self, packet: Packet) -> None:
        """For receive(): it came while something else was asked for."""
        self._later.append(packet)

    def quiet(self, timeout_s: float) -> bool:
        """Does no byte arrive within TIMEOUT_S?  Those that do are read."""
        if self._buffer or self._later or self.closed:
            return False
        if not select.select([self.read_fd], [], [], timeout_s)[0]:
            return True
        self.fill()
        return False

    def receive(self) -> Packet | None:
        """Waits for a packet; None: the other side has closed the connection."""
        if self._later:
            return self._later.popleft()
        while True:
            packet = self.poll()
            if packet is not None:
                return packet
            if self.closed:
                return None
            if select.select([self.read_fd], [], [], SIGNALS_S)[0]:
                self.fill()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._write_fd, view) :]
        except (BrokenPipeError, ConnectionResetError):
            self.closed = True


def _agrees(data: bytes, check: bytes) -> bool:
    try:
        return int(check, 16) == sum(data) & 0xFF
    except ValueError:
        return False
