"""The server of the GDB remote protocol, packet by packet, over a program kept in memory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deadlines
import pytest
from fake_timeline import FakeRecording, FakeTimeline, Trace, build, trace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdb.errors import RdbError
from rdb.replay.agent import Regs, Thread
from rdb.server import server
from rdb.server.breakpoints import Breakpoints, Point, parse_points
from rdb.server.jobs import Worker
from rdb.server.objects import correct_auxv
from rdb.server.packets import PACKET_SIZE, Connection, escape, frame, unescape
from rdb.server.registers import NUMBERS, REGISTERS, RegisterFile
from rdb.server.server import serve
from rdb.server.stops import gdb_signal, passed_signals
from rdb.timeline.stopped import Stopped

SOURCE = """
int values[4];
static void fill(int n) { for (int i = 0; i < n; i++) values[i] = i + 1; }
void start(void) {
    fill(4);
    long number = 60;
    __asm__ volatile("syscall" : "+a"(number) : "D"(0L) : "rcx", "r11", "memory");
}
__asm__(".globl _start\\n_start: call start\\n");
"""
SELECTS = ("23", "270")  # select(2), pselect6(2) on x86-64


class Client:
    """The other end: sends a packet, gives the reply's data."""

    def __init__(self, peer: socket.socket) -> None:
        self.socket = peer
        self.console: list[str] = []
        self._buffer = b""

    def ask(self, data: bytes) -> bytes:
        self.socket.sendall(frame(data))
        reply = self.reply()
        while reply[:1] == b"O" and reply != b"OK":
            self.console.append(bytes.fromhex(reply[1:].decode()).decode())
            reply = self.reply()
        return reply

    def reply(self) -> bytes:
        while True:
            start = self._buffer.find(b"$")
            end = self._buffer.find(b"#", start)
            if start >= 0 and end >= 0 and len(self._buffer) >= end + 3:
                data = self._buffer[start + 1 : end]
                assert int(self._buffer[end + 1 : end + 3], 16) == sum(data) & 0xFF
                self._buffer = self._buffer[end + 3 :]
                with contextlib.suppress(BrokenPipeError):  # after vKill the server is gone
                    self.socket.sendall(b"+")
                return data
            chunk = self.socket.recv(65536)
            if not chunk:
                raise EOFError
            self._buffer += chunk

    def rdb(self, request: str) -> dict[str, object]:
        answer: dict[str, object] = json.loads(bytes.fromhex(self.ask(request.encode()).decode()))
        return answer

    def register(self, name: str) -> int:
        return int.from_bytes(bytes.fromhex(self.ask(b"p%x" % NUMBERS[name]).decode()), "little")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("fake")
    source = folder / "fill.c"
    source.write_text(SOURCE)
    flags = ("-nostdlib", "-ffreestanding", "-fcf-protection=none")
    return trace(build(source, folder / "fill", *flags))


@pytest.fixture
def timeline(run: Trace) -> FakeTimeline:
    return FakeTimeline(run)


@pytest.fixture
def client(timeline: FakeTimeline) -> Iterator[Client]:
    ours, theirs = socket.socketpair()
    ours.settimeout(deadlines.DEADLINE_S)
    recording = FakeRecording(timeline.run.program)

    def session() -> None:
        with theirs:
            serve(timeline, recording, theirs.fileno())

    thread = threading.Thread(target=session)
    thread.start()
    yield Client(ours)
    ours.close()
    thread.join(90)
    assert not thread.is_alive()


def symbol(run: Trace, name: str) -> int:
    import subprocess

    for line in subprocess.run(
        ["nm", str(run.program)], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        address, _, found = line.split()
        if found == name:
            return int(address, 16)
    raise KeyError(name)


def test_features_that_gdb_needs_are_announced(client: Client) -> None:
    reply = client.ask(b"qSupported:multiprocess+;xmlRegisters=i386").split(b";")
    for feature in (b"ReverseStep+", b"ReverseContinue+", b"swbreak+", b"QStartNoAckMode+"):
        assert feature in reply
    assert client.ask(b"vMustReplyEmpty") == b""
    assert client.ask(b"vCont?").startswith(b"vCont;c;C;s;S")
    assert client.ask(b"qAttached") == b"1"


def test_an_interrupt_between_two_moves_is_for_the_next_one(
    client: Client, timeline: FakeTimeline
) -> None:
    """GDB goes on by itself where a condition is false: Ctrl-C then comes while nothing runs."""
    client.socket.sendall(b"\x03")
    before = timeline.index
    assert client.ask(b"vCont;s:p1.1").startswith(b"T02")
    assert timeline.index == before
    assert client.ask(b"vCont;s:p1.1").startswith(b"T05")
    assert timeline.index == before + 1


def test_an_old_interrupt_is_not_for_the_next_move(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_EARLY_S", 0.0)
    client.socket.sendall(b"\x03")
    assert client.ask(b"vCont;s:p1.1").startswith(b"T05")


def test_a_signal_that_does_not_interrupt_the_wait() -> None:
    """As one that comes just before the call: here another thread takes it."""

    class Heard(Exception):
        pass

    def hear(*_: object) -> None:
        raise Heard

    ours, theirs = socket.socketpair()
    call = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/syscall")
    late = []

    def send() -> None:
        until = deadlines.Deadline(deadlines.DEADLINE_S)
        while call.read_text().split()[0] not in SELECTS and not until.over():
            time.sleep(0.01)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
        if not heard.wait(deadlines.DEADLINE_S):
            late.append(True)
            ours.close()  # ends the wait

    before = signal.signal(signal.SIGUSR2, hear)
    heard = threading.Event()
    other = threading.Thread(target=send)
    other.start()
    try:
        with theirs, pytest.raises(Heard):
            Connection(theirs.fileno(), theirs.fileno()).receive()
    finally:
        heard.set()
        other.join()
        ours.close()
        signal.signal(signal.SIGUSR2, before)
    assert not late


def test_a_request_that_comes_during_a_move_is_answered_after_it(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`R` has no reply, so that its sender does not wait."""
    move = timeline.goto_start

    def goto_start(*args: Any, **kwargs: Any) -> Any:
        client.socket.sendall(frame(b"qAttached"))
        unread = deadlines.Deadline(deadlines.DEADLINE_S)
        while struct.unpack("i", fcntl.ioctl(client.socket, termios.TIOCOUTQ, bytes(4))) != (0,):
            assert not unread.over()
            time.sleep(0.01)
        return move(*args, **kwargs)

    monkeypatch.setattr(timeline, "goto_start", goto_start)
    client.socket.sendall(frame(b"R00"))
    assert client.reply() == b"1"


def test_an_interrupt_that_came_as_the_move_ended_ends_nothing_else(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = timeline.step

    def step(*args: Any, **kwargs: Any) -> Stopped:
        stopped = move(*args, **kwargs)
        timeline.interrupt()
        return stopped

    monkeypatch.setattr(timeline, "step", step)
    address = symbol(timeline.run, "values")
    for request in (b"m%x,4" % address, b"g", b"qXfer:auxv:read::0,40", b"qRdb.state"):
        assert client.ask(b"vCont;s:p1.1").startswith(b"T05")
        assert client.ask(request)[:1] not in (b"E", b"")


def test_registers_are_in_gdbs_order(client: Client, timeline: FakeTimeline) -> None:
    data = bytes.fromhex(client.ask(b"g").decode())
    assert len(data) == sum(register.size for register in REGISTERS) == 816
    assert struct.unpack_from("<Q", data, 16 * 8)[0] == timeline.gpr.rip
    assert client.register("rsp") == timeline.gpr.rsp
    assert client.register("fctrl") == 0x37F and client.register("ftag") == 0xFFFF
    assert client.ask(b"pffff") == b"E01"
    xml = client.ask(b"qXfer:features:read:target.xml:0,ffff")
    assert xml[:1] == b"l" and xml.count(b"<reg ") == len(REGISTERS)


def test_registers_change_and_only_then_it_is_a_branch(client: Client) -> None:
    whole = client.ask(b"g")
    assert client.ask(b"G" + whole) == b"OK"
    assert client.rdb("qRdb.state")["branch"] is False
    assert client.ask(b"P%x=0123456789abcdef" % NUMBERS["rbx"]) == b"OK"
    assert client.register("rbx") == 0xEFCDAB8967452301
    assert client.rdb("qRdb.state")["branch"] is True


def test_x87_and_vector_state_from_an_xsave_area() -> None:
    area = bytearray(832)
    struct.pack_into("<Q", area, 512, 7)
    # top of stack 7, one valid register, in physical place 7
    struct.pack_into("<HHB", area, 0, 0x37F, 7 << 11, 0x80)
    area[32:42] = struct.pack("<QH", 1 << 63, 0x3FFF)
    area[160:176] = bytes(range(16))
    area[576:592] = bytes(range(16, 32))
    registers = RegisterFile({r.name: 0 for r in REGISTERS if r.kind == "gpr"}, bytes(area))
    assert registers.read(NUMBERS["ftag"]) == struct.pack("<I", 0x3FFF)
    assert registers.read(NUMBERS["xmm0"]) == bytes(range(16))
    assert registers.read(NUMBERS["ymm0h"]) == bytes(range(16, 32))
    registers.write(NUMBERS["ftag"], struct.pack("<I", 0xFFFF))
    assert registers.xsave[4] == 0
    with pytest.raises(ValueError, match="10 bytes"):
        registers.write(NUMBERS["st0"], b"short")


def test_memory(client: Client, run: Trace) -> None:
    values = symbol(run, "values")
    assert client.ask(b"m%x,10" % values) == b"00" * 16
    assert client.ask(b"m10,4") == b"E14"
    assert client.ask(b"X%x,4:a}\x03b}\x04" % values) == b"OK"
    assert bytes.fromhex(client.ask(b"m%x,4" % values).decode()) == b"a#b$"
    assert client.ask(b"M%x,2:4142" % values) == b"OK"
    assert bytes.fromhex(client.ask(b"m%x,2" % values).decode()) == b"AB"
    assert client.ask(b"X%x,0:" % values) == b"OK"
    assert client.ask(b"X%x,9:ab" % values) == b"E01"


def test_memory_is_searched(client: Client, run: Trace, timeline: FakeTimeline) -> None:
    start = symbol(run, "_start")
    code = timeline.read_memory(start, 64)
    for place in (0, 5, 48):
        wanted = code[place:]
        found = client.ask(b"qSearch:memory:%x;%x;" % (start, len(code)) + escape(wanted))
        assert found == b"1,%x" % (start + code.find(wanted))
    assert client.ask(b"qSearch:memory:%x;%x;" % (start, 63) + escape(code)) == b"0"
    assert client.ask(b"qSearch:memory:10;20;abc") == b"E14"


def test_a_long_pattern_is_searched(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than what is read at a time."""
    pattern = bytes(3 << 19) + b"x"
    memory = bytes(5 << 20) + pattern + bytes(1 << 20)
    client.ask(b"?")
    monkeypatch.setattr(timeline, "read_memory", lambda addr, size: memory[addr : addr + size])
    asked = b"qSearch:memory:0;%x;" % len(memory)
    assert client.ask(asked + escape(pattern)) == b"1,500000"
    assert client.ask(asked + escape(bytes(2 << 20) + b"y")) == b"0"


def test_a_request_that_failed_is_told_once(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(addr: int, length: int) -> bytes:
        raise RdbError("the replica has ended")

    assert client.rdb("qRdb.trouble") == {"text": ""}
    monkeypatch.setattr(timeline, "read_memory", ended)
    assert client.ask(b"m1000,8").startswith(b"E")
    assert client.rdb("qRdb.trouble") == {"text": "the replica has ended"}
    assert client.rdb("qRdb.trouble") == {"text": ""}


def test_only_what_the_client_knows_is_reported(client: Client, run: Trace) -> None:
    """It names the words that it knows when it asks for ours."""
    for type_, word in ((0, b"swbreak"), (1, b"hwbreak")):
        for asked, said in ((b"", False), (b":%s-" % word, False), (b":x+;%s+" % word, True)):
            client.ask(b"qSupported" + asked)
            assert client.ask(b"Z%d,%x,1" % (type_, symbol(run, "fill"))) == b"OK"
            reply = client.ask(b"vCont;c")
            assert reply.startswith(b"T05") and (b"break:;" in reply) == said
            assert client.ask(b"z%d,%x,1" % (type_, symbol(run, "fill"))) == b"OK"
            client.ask(b"bc")


def test_forward_and_back(client: Client, timeline: FakeTimeline, run: Trace) -> None:
    fill, values = symbol(run, "fill"), symbol(run, "values")
    client.ask(b"qSupported:multiprocess+;swbreak+;hwbreak-")
    assert client.ask(b"Z0,%x,1" % fill) == b"OK"
    reply = client.ask(b"vCont;c:1267;c")
    assert reply.startswith(b"T05") and b"swbreak:;" in reply
    assert f"{NUMBERS['rip']:x}:{fill.to_bytes(8, 'little').hex()};".encode() in reply
    assert client.ask(b"z0,%x,1" % fill) == b"OK"
    assert client.ask(b"Z2,%x,4" % (values + 8)) == b"OK"
    assert b"watch:%x;" % (values + 8) in client.ask(b"vCont;c")
    assert client.ask(b"m%x,4" % (values + 8)) == b"03000000"
    assert b"watch:%x;" % (values + 8) in client.ask(b"bc")
    assert client.ask(b"m%x,4" % (values + 8)) == b"00000000"
    here = timeline.index
    assert client.ask(b"bs").startswith(b"T05")
    assert client.ask(b"s").startswith(b"T05")
    assert timeline.index == here
    client.ask(b"z2,%x,4" % (values + 8))
    assert b"replaylog:begin" in client.ask(b"bc")
    assert "start of the recording" in client.console[-1]
    assert b"replaylog:end" in client.ask(b"c")


def test_range_stepping_ends_outside(client: Client, timeline: FakeTimeline, run: Trace) -> None:
    fill = symbol(run, "fill")
    client.ask(b"Z0,%x,1" % fill)
    client.ask(b"vCont;c")
    reply = client.ask(b"vCont;r%x,%x:1" % (fill, fill + 8))
    assert reply.startswith(b"T05")
    assert not fill <= timeline.gpr.rip < fill + 8


def test_range_stepping_stops_at_breakpoints_inside(
    client: Client, timeline: FakeTimeline, run: Trace
) -> None:
    fill = symbol(run, "fill")
    client.ask(b"Z0,%x,1" % fill)
    client.ask(b"vCont;c")
    inside = run.states[timeline.index + 2].gpr.rip
    client.ask(b"Z0,%x,1" % inside)
    assert client.ask(b"vCont;r%x,%x:1" % (fill, fill + 4096)).startswith(b"T05")
    assert timeline.gpr.rip == inside


def test_an_interrupt_ends_a_range_step(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else GDB steps on: it sees that the program is still inside."""
    move = timeline.step

    def step(*args: Any, **kwargs: Any) -> Stopped:
        client.socket.sendall(b"\x03")
        assert heard.wait(deadlines.DEADLINE_S)
        return move(*args, **kwargs)

    heard = threading.Event()
    monkeypatch.setattr(timeline, "interrupt", heard.set)
    monkeypatch.setattr(timeline, "step", step)
    assert client.ask(b"vCont;r0,%x:1" % (1 << 47)).startswith(b"T02")


def test_marks_lead_back(client: Client, timeline: FakeTimeline) -> None:
    for _ in range(5):
        client.ask(b"s")
    state = client.rdb("qRdb.state")
    again = client.rdb("qRdb.state")
    assert again == state
    client.ask(b"s")
    assert client.rdb("qRdb.state")["stop_point"] != state["stop_point"]
    assert client.rdb(f"qRdb.seek:@{state['stop_point']}")["position"] == state["position"]
    assert timeline.index == 5
    assert "not a stop point" in str(client.rdb("qRdb.seek:@99")["error"])
    assert "not a position" in str(client.rdb("qRdb.seek:nowhere")["error"])
    assert client.ask(b"qRdb.nonsense") == b""


def test_last_change(client: Client, run: Trace, timeline: FakeTimeline) -> None:
    client.rdb("qRdb.seek:END")
    values = symbol(run, "values")
    assert client.rdb(f"qRdb.last-change:{values:#x},16")["found"] is True
    assert client.ask(b"m%x,10" % values) == b"01000000020000000300000000000000"
    client.rdb("qRdb.seek:START")
    assert client.rdb(f"qRdb.last-change:{values:#x},16")["found"] is False
    assert timeline.index == 0


def test_files_of_the_store(client: Client, run: Trace) -> None:
    assert client.ask(b"vFile:setfs:0") == b"F0"
    name = str(run.program).encode().hex().encode()
    fd = client.ask(b"vFile:open:%s,0,0" % name)
    assert fd.startswith(b"F") and not fd.startswith(b"F-1")
    reply = client.ask(b"vFile:pread:%s,40,0" % fd[1:])
    head, _, data = reply.partition(b";")
    assert unescape(data) == run.program.read_bytes()[:64] and head == b"F40"
    _, _, packed = client.ask(b"vFile:fstat:%s" % fd[1:]).partition(b";")
    size = struct.unpack_from(">Q", unescape(packed), 28)[0]
    assert size == run.program.stat().st_size
    assert client.ask(b"vFile:close:%s" % fd[1:]) == b"F0"
    assert client.ask(b"vFile:close:%s" % fd[1:]) == b"F-1,16"
    for path, flags in (("/etc/passwd", 0), (str(run.program), 1)):
        reply = client.ask(b"vFile:open:%s,%x,0" % (path.encode().hex().encode(), flags))
        assert reply.startswith(b"F-1,")
    assert client.ask(b"vFile:unlink:%s" % name) == b""


def test_objects(client: Client, run: Trace) -> None:
    assert client.ask(b"qXfer:exec-file:read:1267:0,fff") == b"l" + str(run.program).encode()
    assert client.ask(b"qXfer:exec-file:read::1,2") == b"m" + str(run.program).encode()[1:3]
    auxv = unescape(client.ask(b"qXfer:auxv:read::0,fff")[1:])
    assert dict(struct.iter_unpack("<QQ", auxv))[9] == run.entry
    assert b'id="1"' in client.ask(b"qXfer:threads:read::0,fff")
    assert client.ask(b"qXfer:features:read:other.xml:0,fff") == b"E00"
    assert client.ask(b"qXfer:features:read") == b"E00"


def test_entry_in_auxv_is_the_programs() -> None:
    auxv = struct.pack("<6Q", 3, 64, 9, 0xBAD, 0, 0) + b"left over"
    assert correct_auxv(auxv, 0x1234) == struct.pack("<6Q", 3, 64, 9, 0x1234, 0, 0)


def test_conditions_are_parsed_and_any_of_them_counts(timeline: FakeTimeline) -> None:
    points = parse_points(b"0,1000,1;X3,220122X1,27;cmds:0,")
    assert points == [Point(0, 0x1000, 1, b'"\x01"'), Point(0, 0x1000, 1, b"'")]
    for bad in (b"0,1000", b"9,1000,1", b"0,xyz,1", b"0,10000000000000000,1", b"0,1,1;X5,22"):
        with pytest.raises(ValueError):
            parse_points(bad)
    table = Breakpoints(timeline)
    table.insert(points)
    table.arm()
    assert len(timeline.breakpoints) == 2
    table.insert([Point(0, 0x1000, 1)])
    table.arm()
    assert list(timeline.breakpoints.values()) == [0x1000]
    assert table.stop_word(next(iter(timeline.breakpoints)), 0x1000) == ""
    table.told_kinds = frozenset({"swbreak"})
    assert table.stop_word(next(iter(timeline.breakpoints)), 0x1000) == "swbreak:;"


def test_signals_have_gdbs_numbers() -> None:
    assert [gdb_signal(n) for n in (2, 5, 6, 7, 11, 10)] == [2, 5, 6, 10, 11, 30]


def test_acknowledgements_and_resending(timeline: FakeTimeline) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(deadlines.DEADLINE_S)
    connection = Connection(theirs.fileno(), theirs.fileno())
    ours.sendall(b"$qC#00")  # a wrong checksum
    ours.sendall(frame(b"qC"))
    packet = connection.receive()
    assert packet is not None and packet.data == b"qC"
    assert ours.recv(10) == b"-+"
    connection.send(b"x")
    assert ours.recv(10) == frame(b"x")
    ours.sendall(b"-" + b"\x03" + b"noise\x03")
    for _ in range(2):
        packet = connection.receive()
        assert packet is not None and packet.interrupt
    assert ours.recv(10) == frame(b"x")
    ours.close()
    assert connection.receive() is None
    theirs.close()


def test_a_long_request_is_taken_and_one_that_is_too_long_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rdb.server.packets.REQUEST_MAX", 5 * PACKET_SIZE)
    ours, theirs = socket.socketpair()
    ours.settimeout(deadlines.DEADLINE_S)
    connection = Connection(theirs.fileno(), theirs.fileno())
    long, too_long = b"q" * (5 * PACKET_SIZE - 8), b"qRdb.x:" + b"0" * (11 * PACKET_SIZE)
    cut = b"$" + b"1" * (6 * PACKET_SIZE)
    sender = threading.Thread(
        target=ours.sendall,
        args=(frame(long) + frame(too_long) + frame(b"qC") + cut + frame(b"g"),),
    )
    sender.start()
    packets = [connection.receive() for _ in range(4)]
    sender.join()
    found = [(one.data, one.too_long) for one in packets if one is not None]
    assert found == [(long, False), (too_long[:64], True), (b"qC", False), (b"g", False)]
    assert ours.recv(10) == b"++++"
    ours.close()
    theirs.close()


def test_a_request_that_is_too_long_has_an_error_for_an_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdb.server.packets.REQUEST_MAX", PACKET_SIZE)
    answer = client.rdb("qRdb.info:" + "0" * 2 * PACKET_SIZE)
    assert answer["error"] == "the request is longer than 16 MiB"
    assert client.ask(b"x" * 2 * PACKET_SIZE) == b"E.the request is longer than 16 MiB"
    assert client.ask(b"qC").startswith(b"QC")


def test_jobs_that_nobody_waits_for_by_the_pipe_do_not_fill_it() -> None:
    worker = Worker()
    fcntl.fcntl(worker._write_fd, fcntl.F_SETPIPE_SZ, 4096)
    jobs = [worker.start(lambda: None) for _ in range(10_000)]
    assert all(job.wait(deadlines.DEADLINE_S) for job in jobs)
    worker.close()


@given(st.binary())
def test_escaping_is_undone(data: bytes) -> None:
    assert unescape(escape(data)) == data
    assert not set(escape(data)) & set(b"#$*")


WORDS = st.sampled_from(
    b"m M X g G p P Z0 Z2 z0 H T q Q v D qXfer: vFile: vCont; qRdb. qRdb.seek: qRdb.last-change: "
    b"qRdb.bisect-start: qRdb.describe: features:read: open: pread: , : ; = 0 -1 1000 X3, } \xff "
    b"ffffffffffffffffff".split()
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(WORDS, st.binary(max_size=6)), max_size=6).map(b"".join))
def test_nonsense_never_ends_a_session(client: Client, data: bytes) -> None:
    if data[:1] in (b"k", b"R", b"\x03") or data.startswith(b"vKill"):
        return
    packet = data.translate(None, b"#$")
    client.ask(packet)
    assert client.ask(b"qC") == b"QC1"


def _packets() -> st.SearchStrategy[bytes]:
    """Whole packets, with the right checksum, a wrong one or none that is a number."""
    body = st.lists(st.one_of(WORDS, st.binary(max_size=6)), max_size=6).map(b"".join)
    checks = st.sampled_from((b"00", b"zz", b"#", b"", b"\xff\xff"))
    return st.one_of(body.map(frame), st.tuples(body, checks).map(lambda p: b"$%s#%s" % p))


def _bare(stream: bytes) -> bytes:
    """Without what ends a session, and without moves: those may take their time."""
    return stream.translate(None, b"k\x03")


STREAMS = st.lists(
    st.one_of(
        _packets(),
        _packets().map(lambda packet: packet[: len(packet) // 2]),
        st.binary(max_size=40),
        st.sampled_from((b"$", b"#", b"$#00", b"$$##", b"+-+-", b"-" * 50, b"$m" + b"f" * 4000)),
    ),
    max_size=6,
).map(b"".join)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(STREAMS, st.booleans())
def test_garbage_on_the_line_never_ends_a_session(
    run: Trace, stream: bytes, acknowledged: bool
) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(deadlines.DEADLINE_S)
    timeline = FakeTimeline(run)
    thread = threading.Thread(
        target=serve, args=(timeline, FakeRecording(run.program), theirs.fileno())
    )
    thread.start()
    try:
        if not acknowledged:
            Client(ours).ask(b"QStartNoAckMode")
        stream = _bare(stream).replace(b"vKill", b"")
        # What may look like the beginning of a packet is ended by the next one's `$`.
        ours.sendall(stream + frame(b"qRdb.nonsense") + frame(b"?") + frame(b"qAttached"))
        got = b""
        while not got.endswith(frame(b"1")):
            chunk = ours.recv(65536)
            assert chunk, (stream, got)
            got += chunk
        assert b"$T05" in got
    finally:
        ours.close()
        thread.join(90)
        theirs.close()
    assert not thread.is_alive()


def test_a_packet_cut_short_does_not_take_the_next_one_along(client: Client) -> None:
    client.ask(b"QStartNoAckMode")
    client.socket.sendall(b"$m1000,4" + frame(b"qC"))
    assert client.reply() == b"QC1"


@pytest.mark.parametrize(
    "packet", [b"Z0,-5,1", b"Z2,1000,-1", b"Z0,10,ffffffffffff", b"z9,1,1", b"m-1,4", b"p-1"]
)
def test_numbers_out_of_range(client: Client, packet: bytes) -> None:
    assert client.ask(packet) == b"E01"
    assert client.ask(b"s").startswith(b"T05")


def test_an_error_in_a_stop_reply_is_told(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move is over, but where it led cannot be looked at: GDB waits for an answer."""

    def gone() -> list[Thread]:
        raise RdbError("the replica #7 ended", "its message is *above*")

    with monkeypatch.context() as broken:
        broken.setattr(timeline, "threads", gone)
        broken.setattr(timeline, "cont", lambda forward=True: Stopped("step", thread=2))
        for packet in (b"vCont;c", b"bc", b"?"):
            told = client.ask(packet)
            assert told == b"E.rdb: the replica ?7 ended; its message is ?above?"
    before = timeline.index
    assert client.ask(b"?").startswith(b"T05")
    assert client.ask(b"vCont;s:1").startswith(b"T05")
    assert timeline.index == before + 1


def test_a_system_call_that_fails_ends_no_session(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No descriptor for a replica, a segment of the log that is gone."""

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    assert client.ask(b"?").startswith(b"T05")
    with monkeypatch.context() as broken:
        for name in ("cont", "registers", "read_memory", "seek"):
            broken.setattr(timeline, name, fails)
        told = b"E.rdb: Too many open files"
        assert [client.ask(one) for one in (b"g", b"?", b"bc")] == [told] * 3
        assert client.ask(b"m1000,8") == b"E01"
        assert client.rdb("qRdb.seek:0")["error"] == "Too many open files"
    assert client.ask(b"vCont;s:1").startswith(b"T05")


def test_an_error_instead_of_registers_is_told(
    client: Client, timeline: FakeTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(thread: int = 0) -> Regs:
        raise RdbError("the replica ended")

    with monkeypatch.context() as broken:
        broken.setattr(timeline, "registers", gone)
        assert client.ask(b"Hg1") == b"E01"
        for packet in (b"g", b"p0", b"?"):
            assert client.ask(packet) == b"E.rdb: the replica ended"
        stepped = client.ask(b"vCont;s:1")  # neither the step nor where it failed
        assert stepped == b"E.rdb: the replica ended"
        assert client.console == ["rdb: the replica ended\n"]
    assert len(client.ask(b"g")) == 2 * 816
    assert client.ask(b"vCont;s:1").startswith(b"T05")


def test_detach_and_kill(client: Client) -> None:
    assert client.ask(b"D") == b"OK"
    assert client.ask(b"vKill;1") == b"OK"
    with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
        client.ask(b"qC")


def test_a_client_that_leaves_in_a_search_leaves_no_breakpoint(
    client: Client, timeline: FakeTimeline, run: Trace
) -> None:
    """`calls` has breakpoints that no packet has set."""
    assert client.ask(b"Z0,%x,1" % symbol(run, "fill")) == b"OK"
    timeline.set_breakpoint(99, symbol(run, "start"))
    client.ask(b"vCont;c")
    assert len(timeline.breakpoints) == 2
    assert client.ask(b"vKill;1") == b"OK"
    with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
        client.ask(b"qC")
    assert not timeline.breakpoints


def test_missing_job_is_one_line(tmp_path: Path) -> None:
    import subprocess
    import sys

    done = deadlines.run(
        [sys.executable, "-m", "rdb.server", "nosuch", "--stdio"],
        60,
        env={**os.environ, "RDB_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 4 and done.stdout == ""
    assert done.stderr.startswith("rdb: no job 'nosuch'") and done.stderr.count("\n") == 1


def test_threads_have_registers_of_their_own(client: Client, timeline: FakeTimeline) -> None:
    timeline.parked[2] = timeline.gpr._replace(rip=0x1234, thread=2)
    listed = client.ask(b"qXfer:threads:read::0,fff")
    assert b'id="2"' in listed and b"waits in futex" in listed and b"LWP 4712" in listed
    assert client.ask(b"qfThreadInfo") == b"m1,2"
    assert client.ask(b"T2") == b"OK" and client.ask(b"T3") == b"E01"
    pc = client.register("rip")
    assert client.ask(b"Hg2") == b"OK"
    assert client.register("rip") == 0x1234
    assert client.ask(b"qC") == b"QC2"
    assert client.ask(b"Hg9") == b"E01"
    assert client.register("rip") == 0x1234
    assert client.ask(b"Hg1") == b"OK"
    assert client.register("rip") == pc


@pytest.mark.parametrize(
    ("packets", "stepped"),
    [
        ([b"vCont;s:2;c"], (2, False)),
        ([b"vCont;s:2"], (2, True)),
        ([b"vCont;s:p1.2;c:p1.-1"], (2, False)),
        ([b"vCont;r0,1:2;c"], (2, False)),
        ([b"Hg2", b"Hc0", b"bs"], (2, False)),
        ([b"Hg2", b"Hc1", b"bs"], (1, False)),
        ([b"Hg2", b"Hg1", b"T2", b"Hc0", b"bs"], (2, False)),
        ([b"Hg2", b"Hc-1", b"s"], (2, False)),
        ([b"Hg2", b"vCont;c", b"Hc0", b"bs"], (1, False)),
    ],
)
def test_the_thread_that_a_packet_steps(
    client: Client, timeline: FakeTimeline, packets: list[bytes], stepped: tuple[int, bool]
) -> None:
    timeline.parked[2] = timeline.gpr._replace(rip=0x1234, thread=2)
    for packet in packets:
        client.ask(packet)
    assert timeline.stepped[-1] == stepped


def test_gdb_numbers_all_signals_of_its_own() -> None:
    numbers = [gdb_signal(number) for number in range(1, 65)]
    assert len(set(numbers)) == 64
    assert passed_signals(b"e;14;2d;4d;4e") == {14, 17, 32, 33, 64}
    assert passed_signals(b"") == {32, 33}  # the C library's own
    with pytest.raises(ValueError):
        passed_signals(b"x")
