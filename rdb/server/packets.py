"""Framing of the GDB remote protocol (GDB manual, E.1): `$data#checksum`, acks, escapes."""

from __future__ import annotations

import os
import select
from dataclasses import dataclass

INTERRUPT = b"\x03"
#: Bytes of packet data we accept and announce (`PacketSize`).
PACKET_SIZE = 0x20000
#: Longer requests than announced are taken, too: rdb's own may be.  This is where it ends.
REQUEST_MAX = 16 << 20
_KEPT = 64  # bytes of a request that is longer, to say what it was
_ESCAPED = b"}#$*"  # the first one stands for itself in what the others become


def escape(data: bytes) -> bytes:
    """Binary data as it may stand in a reply: `#`, `$`, `}` and `*` escaped."""
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


@dataclass(frozen=True)
class Packet:
    """One request, or an interrupt (the lone byte 0x03)."""

    data: bytes
    interrupt: bool = False
    too_long: bool = False
    """More than REQUEST_MAX: `data` is how it begins."""


class Connection:
    """Packets over a pair of descriptors (a socket is the same descriptor twice)."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = bytearray()
        self._last_sent = b""
        self._too_long = b""  # how the request begins whose end has not come yet
        self.acks = True
        self.closed = False

    def send(self, data: bytes) -> None:
        self._last_sent = frame(data)
        self._write(self._last_sent)

    def poll(self) -> Packet | None:
        """The next whole packet that is already here, if any."""
        while self._buffer:
            if self._buffer[0] == INTERRUPT[0]:
                del self._buffer[:1]
                return Packet(b"", interrupt=True)
            if self._buffer[0] == ord("-") and self.acks and self._last_sent:
                del self._buffer[:1]
                self._write(self._last_sent)
                continue
            start = self._buffer.find(b"$")
            if self._buffer[0] != ord("$"):
                # Acks and line noise before a packet mean nothing; an interrupt among them does.
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
            # A `$` is never data: what comes before a second one is a packet that was cut short.
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
            return Packet(data)
        return None

    def fill(self) -> None:
        """Reads what has come; call it when there is something.  Sets `closed` at the end."""
        try:
            chunk = os.read(self.read_fd, 65536)
        except ConnectionResetError:
            chunk = b""
        if chunk:
            self._buffer += chunk
        else:
            self.closed = True

    def quiet(self, timeout_s: float) -> bool:
        """Does nothing come for so long?"""
        if self._buffer or self.closed:
            return False
        return not select.select([self.read_fd], [], [], timeout_s)[0]

    def receive(self) -> Packet | None:
        """Waits for a packet; None when the other side has gone."""
        while True:
            packet = self.poll()
            if packet is not None:
                return packet
            if self.closed:
                return None
            select.select([self.read_fd], [], [])
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
