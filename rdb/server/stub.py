"""The replies to the packets of one connection (GDB manual, appendix E).

The reply to an unknown packet is empty, to a malformed one E01.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rdb.errors import RdbError, system_errors
from rdb.server.breakpoints import Breakpoints, parse_points
from rdb.server.files import Files
from rdb.server.motion import Motion, Move
from rdb.server.objects import Objects
from rdb.server.packets import PACKET_SIZE, unescape
from rdb.server.pages import Pages
from rdb.server.registers import REGISTERS, RegisterFile
from rdb.server.stops import passed_signals, stop_reply
from rdb.server.thread_storage import ThreadStorage
from rdb.server.threads import Threads, parse_thread
from rdb.server.values import register_file, set_register_file
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

OK, BAD, FAULT = b"OK", b"E01", b"E14"
_FEATURES = (
    *("ReverseStep+", "ReverseContinue+", "swbreak+", "hwbreak+", "vContSupported+"),
    *("QStartNoAckMode+", "ConditionalBreakpoints+", "QPassSignals+", "qXfer:features:read+"),
    *("qXfer:auxv:read+", "qXfer:exec-file:read+", "qXfer:threads:read+"),
    "qXfer:siginfo:read+",
)
_LIMIT = 1 << 64
_SEARCHED = 1 << 20  # bytes of memory at a time, at least
_ERRORS_SHOWN = (b"?", b"g", b"p")  # GDB shows the text of an `E.` reply only for these
_NO_TEXT = re.compile(r"[^ -~]|[#$*}]")  # characters that a packet's text cannot have


class Stub:
    """State of one connection.  `resume` returns the move of a packet; `handle` replies to
    others."""

    def __init__(
        self,
        timeline: Timeline,
        motion: Motion,
        points: Breakpoints,
        objects: Objects,
        files: Files,
        threads: Threads,
    ) -> None:
        self.timeline = timeline
        self.motion = motion
        self.points = points
        self.objects = objects
        self.files = files
        self.threads = threads
        self.finished = False
        self.killed = False  # the next client begins at the start
        self.leaving = False  # `monitor exit`: no further clients
        self._extended = False
        self.acks = True
        self._last: Stopped | None = None
        self._pages = Pages(lambda addr, length: timeline.read_memory(addr, length))
        self._methods: dict[bytes, Callable[[bytes], bytes]] = {
            b"?": self._why,
            b"!": self._extend,
            b"g": lambda body: self._registers().all().hex().encode("ascii"),
            b"G": self._write_registers,
            b"p": self._read_register,
            b"P": self._write_register,
            b"m": self._read_memory,
            b"M": self._write_memory,
            b"X": self._write_binary,
            b"Z": self._insert_point,
            b"z": self._remove_point,
            b"H": lambda body: OK if self.threads.select(body) else BAD,
            b"T": lambda body: OK if self.threads.alive(body) else BAD,
            # GDB still closes its files afterwards: the connection ends when GDB closes it.
            b"D": lambda body: OK,
            b"q": self._query,
            b"Q": self._set,
            b"v": self._v,
        }

    def after(self, other: Stub) -> Stub:
        """Takes over the connection state of another stub."""
        self._extended, self.acks = other._extended, other.acks
        self.motion.pass_signals(other.motion.passed)  # GDB repeats only what has changed
        return self

    def resume(self, packet: bytes) -> Move | None:
        return self.motion.resume(packet)

    def stopped(self, stopped: Stopped) -> bytes:
        self._last = stopped
        with system_errors():
            return stop_reply(stopped, self.timeline, self.points, self.threads)

    def handle(self, packet: bytes) -> bytes:
        try:
            with system_errors():
                return self._handle(packet)
        except RdbError as error:
            self.motion.trouble = error
            return told(error) if packet[:1] in _ERRORS_SHOWN else BAD
        except (ValueError, KeyError, IndexError, OverflowError):
            return BAD

    def _handle(self, packet: bytes) -> bytes:
        if self.motion.noticed is not None:
            other = self.threads.selected != self.timeline.thread
            self.motion.noticed.packet(packet, other)
        letter = packet[:1]
        if letter == b"k":
            self._kill()
            return b""
        method = self._methods.get(letter)
        return method(packet[1:]) if method else b""

    def _extend(self, body: bytes) -> bytes:
        self._extended = True
        return OK

    def _kill(self) -> bytes:
        """Ends the connection, or keeps it for `run` in extended mode."""
        self.killed = True
        self.finished = not self._extended
        return OK

    def _why(self, body: bytes) -> bytes:
        return stop_reply(self._last, self.timeline, self.points, self.threads)

    # registers

    def _registers(self) -> RegisterFile:
        return register_file(self.timeline, self.threads.selected)

    def _change(self, change: Callable[[RegisterFile], None]) -> bytes:
        registers = self._registers()
        before = registers.all()
        change(registers)
        if registers.all() != before:
            set_register_file(self.timeline, registers, self.threads.selected)
            self.motion.changed()
        return OK

    def _write_registers(self, body: bytes) -> bytes:
        data = bytes.fromhex(body.decode("ascii"))
        return self._change(lambda registers: registers.write_all(data))

    def _read_register(self, body: bytes) -> bytes:
        number = int(body, 16)
        if not 0 <= number < len(REGISTERS):
            return BAD
        return self._registers().read(number).hex().encode("ascii")

    def _write_register(self, body: bytes) -> bytes:
        number_text, _, value = body.partition(b"=")
        number = int(number_text, 16)
        if not 0 <= number < len(REGISTERS):
            return BAD
        data = bytes.fromhex(value.decode("ascii"))
        return self._change(lambda registers: registers.write(number, data))

    # memory

    def _read_memory(self, body: bytes) -> bytes:
        addr, length = _addr_length(body)
        serial, most = self.motion.stop_points.serial, PACKET_SIZE // 2 - 8
        data = self._pages.read(serial, addr, min(length, most)) if length else b""
        if self.motion.noticed is not None:
            self.motion.noticed.read(addr, length, data)
        return data.hex().encode("ascii") if data or not length else FAULT

    def _write_memory(self, body: bytes) -> bytes:
        head, _, data = body.partition(b":")
        return self._write(head, bytes.fromhex(data.decode("ascii")))

    def _write_binary(self, body: bytes) -> bytes:
        head, _, data = body.partition(b":")
        return self._write(head, unescape(data))

    def _write(self, head: bytes, data: bytes) -> bytes:
        addr, length = _addr_length(head)
        if len(data) != length:
            return BAD
        if length and self.timeline.read_memory(addr, length) != data:
            self._pages.forget()
            try:
                self.timeline.write_memory(addr, data)
            except (OSError, RdbError):
                return FAULT
            self.motion.changed()
        return OK

    # breakpoints

    def _insert_point(self, body: bytes) -> bytes:
        self.points.insert(parse_points(body))
        return OK

    def _remove_point(self, body: bytes) -> bytes:
        self.points.remove(parse_points(body)[0])
        return OK

    # queries

    def _query(self, body: bytes) -> bytes:
        name, _, rest = body.partition(b":")
        if name == b"Supported":
            asked = rest.decode("latin-1").split(";")
            self.points.told_kinds = frozenset(
                word for word in ("swbreak", "hwbreak") if f"{word}+" in asked
            )
            return f"PacketSize={PACKET_SIZE:x};{';'.join(_FEATURES)}".encode("ascii")
        if name == b"Xfer":
            return self.objects.handle(rest)
        if body == b"C":
            return b"QC%x" % self.threads.selected
        if body == b"fThreadInfo":
            return b"m" + self.threads.ids()
        if body == b"sThreadInfo":
            return b"l"
        if name == b"Attached":
            return b"1"
        if name == b"GetTLSAddr":
            return self._tls_address(rest)
        if name == b"Search":
            return self._search(rest)
        if name == b"Symbol":
            return OK
        if body.startswith(b"Rcmd,"):
            return self._monitor(bytes.fromhex(body[5:].decode("ascii")).decode("utf-8").strip())
        if body.startswith(b"ThreadExtraInfo,"):
            about = self.threads.about(parse_thread(body.partition(b",")[2]))
            return about.encode("utf-8").hex().encode("ascii")
        return b""

    def _search(self, body: bytes) -> bytes:
        """`memory:address;length;pattern`: the first place of the pattern (`qSearch`, E.4)."""
        addr_text, length_text, escaped = body.removeprefix(b"memory:").split(b";", 2)
        addr, pattern = int(addr_text, 16), unescape(escaped)
        at_once = max(_SEARCHED, 2 * len(pattern))
        end = addr + int(length_text, 16)
        while addr + len(pattern) <= end:
            wanted = min(end - addr, at_once)
            data = self.timeline.read_memory(addr, wanted)
            place = data.find(pattern)
            if place >= 0:
                return b"1,%x" % (addr + place)
            if len(data) < wanted:
                return FAULT
            addr += wanted - len(pattern) + 1
        return b"0"

    def _tls_address(self, body: bytes) -> bytes:
        """`thread,offset,link map` -> address of the thread-local variable."""
        thread_text, offset_text, map_text = body.split(b",")
        timeline = self.timeline
        registers = timeline.registers(parse_thread(thread_text))
        lookup = ThreadStorage(timeline.read_memory)
        address = lookup.address(registers.gpr.thread_pointer, int(map_text, 16))
        return b"%x" % ((address + int(offset_text, 16)) % _LIMIT)

    def _monitor(self, command: str) -> bytes:
        """GDB's `monitor COMMAND`, for clients without our extension."""
        if command == "exit":
            self.leaving = True
            return OK
        if command == "when":
            text = str(self.timeline.name())
        else:
            text = "monitor when: the position; monitor exit: serve no further client"
        return f"{text}\n".encode().hex().encode("ascii")

    def _set(self, body: bytes) -> bytes:
        name, _, rest = body.partition(b":")
        if name == b"StartNoAckMode":
            self.acks = False
            return OK
        if name == b"PassSignals":
            self.motion.pass_signals(passed_signals(rest))
            return OK
        return b""

    def _v(self, body: bytes) -> bytes:
        if body == b"Cont?":
            return b"vCont;c;C;s;S;t;r"
        if body.startswith(b"Cont;"):
            return OK if body.startswith(b"Cont;t") else BAD
        if body.startswith(b"File:"):
            return self.files.handle(body[5:])
        if re.match(rb"Kill(;|$)", body):
            return self._kill()
        if body.startswith(b"Attach;"):
            return self._why(b"")  # after `detach` the rank is where it was
        return b""


def told(error: RdbError) -> bytes:
    """An error reply with a text (`E.TEXT`)."""
    return b"E." + _NO_TEXT.sub("?", error.line()).encode("ascii")


def _addr_length(text: bytes) -> tuple[int, int]:
    addr_text, length_text = text.split(b",")
    addr, length = int(addr_text, 16), int(length_text, 16)
    if not (0 <= addr < _LIMIT and 0 <= length < _LIMIT):
        raise ValueError("out of range")
    return addr, length
