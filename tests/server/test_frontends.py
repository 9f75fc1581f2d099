"""Front ends without our extension: a plain GDB over MI and in a terminal, raw clients, sockets."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pexpect
import pytest
from conftest import PROGRAMS, Build
from deadlines import Deadline
from gdbdriver import Gdb, GdbError, Recorded
from terminal import hang_up
from test_server import Client

from rdb.server.packets import escape, frame

DEADLINE_S = 180.0


class PlainGdb(Gdb):
    """GDB as a front end starts it."""

    def __init__(self) -> None:
        self._deadline_s = DEADLINE_S
        self._token = 0
        self._unread = b""
        self._process = subprocess.Popen(
            ["gdb", "-nx", "-q", "-i=mi"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )


class Server:
    """`rdb serve` on a socket of its own."""

    def __init__(self, recorded: Recorded, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rdb", "serve", "job", *arguments],
            env={**os.environ, "RDB_HOME": str(recorded.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            assert ready.select(DEADLINE_S), "the server says nothing"
        self.said = self.process.stdout.readline()
        self.where = self.said.split()[-1]
        self.port = int(self.where.rpartition(":")[2]) if ":" in self.where else 0

    def client(self) -> Client:
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S)
        return Client(peer)

    def close(self) -> int:
        """Ctrl-C; the exit code."""
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGINT)
        try:
            return deadlines.wait(self.process, DEADLINE_S)
        finally:
            self.process.kill()
            self.process.stdout.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("frontends")
    program = build("reverse.c", "-O0")
    made = Recorded(folder, program, PROGRAMS / "reverse.c", str(folder / "text"))
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def server(recorded: Recorded) -> Iterator[Server]:
    started = Server(recorded, "--port", "0")
    try:
        yield started
        assert started.process.poll() is None, "the server has ended"
    finally:
        code = started.close()
    assert code == 130


@pytest.fixture
def gdb(server: Server) -> Iterator[PlainGdb]:
    with PlainGdb() as plain:
        plain.mi(f"-target-select remote {server.where}")
        yield plain


def test_mi_with_reverse_flags(gdb: PlainGdb, recorded: Recorded) -> None:
    gdb.mi(f"-break-insert -t {recorded.at('after-twice')}")
    gdb.mi("-exec-continue")
    gdb.expect_at(recorded.at("after-twice"))
    gdb.mi("-exec-next --reverse")
    gdb.expect_at(recorded.at("main-twice"))
    gdb.mi("-exec-next")
    gdb.mi("-exec-step --reverse")
    assert gdb.function() == "twice"
    gdb.mi("-exec-finish --reverse")
    gdb.expect_at(recorded.at("main-twice"))
    pc = gdb.registers()["rip"]
    gdb.mi("-exec-step-instruction")
    assert gdb.registers()["rip"] != pc
    gdb.mi("-exec-step-instruction --reverse")
    assert gdb.registers()["rip"] == pc
    gdb.mi("-exec-next-instruction --reverse")
    assert gdb.registers()["rip"] != pc
    gdb.mi("-exec-continue --reverse")
    gdb.mi("-exec-continue")
    gdb.mi("-exec-continue --reverse")


def test_mi_conditions_and_watchpoints(gdb: PlainGdb, recorded: Recorded) -> None:
    gdb.mi(f'-break-insert -c "i == 500" {recorded.at("tick")}')
    gdb.mi("-exec-continue")
    assert gdb.integer("i") == 500
    gdb.mi("-break-delete")
    gdb.mi("-break-watch i")
    gdb.mi("-exec-continue --reverse")
    assert gdb.integer("i") == 499
    gdb.mi("-exec-continue")
    assert gdb.integer("i") == 500


def test_detached_and_connected_again_it_stands_where_it_stood(
    server: Server, recorded: Recorded
) -> None:
    with PlainGdb() as first:
        first.mi(f"-target-select remote {server.where}")
        first.mi(f"-break-insert {recorded.at('main-twice')}")
        first.mi("-exec-continue")
        first.run("set var $rbx = 77")
        first.mi("-target-detach")
        first.mi(f"-target-select extended-remote {server.where}")
        first.expect_at(recorded.at("main-twice"))
        assert first.integer("$rbx") != 77
        first.mi("-target-disconnect")
    with PlainGdb() as second:
        second.mi(f"-target-select remote {server.where}")
        second.expect_at(recorded.at("main-twice"))
        second.mi("-exec-continue")  # the first one's breakpoint is not the second one's
        assert "after-twice" not in second.where()
        second.run("kill")
    with PlainGdb() as third:
        third.mi(f"-target-select remote {server.where}")
        assert third.function() == "_start"


def test_run_goes_to_the_start_and_on(server: Server, recorded: Recorded) -> None:
    with PlainGdb() as gdb:
        gdb.mi(f"-target-select extended-remote {server.where}")
        gdb.mi(f"-break-insert {recorded.at('main-fact')}")
        gdb.mi("-break-insert -f main")
        for _ in range(2):
            gdb.run("run")
            assert gdb.function() == "main"
            gdb.mi("-exec-continue")
            gdb.expect_at(recorded.at("main-fact"))


def test_ctrl_c_in_a_long_continue(server: Server, recorded: Recorded) -> None:
    """As VS Code does it: MI asynchronous, `-exec-interrupt`."""
    with PlainGdb() as gdb:
        gdb.mi("-gdb-set mi-async on")
        gdb.mi(f"-target-select remote {server.where}")
        assert "when" in gdb.run("monitor help")
        assert gdb.run("monitor when").strip() == "0"
        gdb.mi('-break-insert -c "$_streq(\\"a\\", \\"b\\")" ' + recorded.at("tick"))
        gdb._send("-exec-continue")
        until = Deadline(DEADLINE_S)
        while "*running" not in gdb._line(until):
            pass
        gdb._send("-exec-interrupt")
        line = ""
        while "*stopped" not in line:
            line = gdb._line(until)
        assert "SIGINT" in line


def test_a_unix_socket_is_its_owners_alone(recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "gdb.sock"
    server = Server(recorded, "--socket", str(path), "--once")
    assert path.stat().st_mode & 0o077 == 0
    with PlainGdb() as gdb:
        gdb.mi(f"-target-select remote {path}")
        gdb.mi("-break-insert main")
        gdb.mi("-exec-continue")
        assert gdb.function() == "main"
    assert deadlines.wait(server.process, DEADLINE_S) == 0
    assert not path.exists()
    server.close()


def test_places_that_are_taken(recorded: Recorded, server: Server, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    for arguments in (["--port", str(server.port)], ["--socket", str(taken)], ["--port", "70000"]):
        done = deadlines.run(
            [sys.executable, "-m", "rdb", "serve", "job", *arguments],
            DEADLINE_S,
            env={**os.environ, "RDB_HOME": str(recorded.home)},
        )
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith("rdb: cannot listen on") and done.stderr.count("\n") == 1
    assert taken.exists()


def test_the_port_is_of_the_loopback_alone(server: Server) -> None:
    addresses = {
        line.split()[1].partition(":")[0]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{server.port:04X}")
    }
    assert addresses == {"0100007F"}


def test_gdb_tui_shows_the_source(server: Server, recorded: Recorded) -> None:
    child = pexpect.spawn(
        "gdb",
        ["-nx", "-q", "-tui", "-ex", f"target remote {server.where}"],
        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
        dimensions=(40, 120),
        timeout=DEADLINE_S,
        encoding="utf-8",
    )
    try:
        child.expect("_start")
        child.sendline("break twice")
        child.sendline("continue")
        child.expect("Breakpoint 1, ")
        child.expect("@twice-first")
        child.sendline("reverse-finish")
        child.expect("@main-twice")
    finally:
        hang_up(child)


@pytest.mark.parametrize(
    "features",
    [
        b"",
        b":xmlRegisters=i386",
        b":multiprocess-;swbreak-;hwbreak-",
        b":multiprocess+;swbreak+;hwbreak+;qRelocInsn+;fork-events+;vContSupported+;no-resumed+",
        b":;;=;x=;+;-;?",
    ],
)
def test_what_clients_ask_at_the_start(server: Server, features: bytes) -> None:
    client = server.client()
    with client.socket:
        assert b"PacketSize=" in client.ask(b"qSupported" + features)
        for unknown in (b"vMustReplyEmpty", b"qTStatus", b"QNonStop:1", b"jThreadsInfo", b"qL1"):
            assert client.ask(unknown) == b""
        assert client.ask(b"!") == b"OK"
        assert client.ask(b"QStartNoAckMode") == b"OK"
        assert client.ask(b"Hg0") == b"OK" and client.ask(b"Hc-1") == b"OK"
        assert client.ask(b"?").startswith(b"T05")
        assert client.ask(b"qAttached:1") == b"1"
        assert client.ask(b"qSymbol::") == b"OK"
        assert client.ask(b"vCont?").startswith(b"vCont")
        assert client.ask(b"qXfer:features:read:target.xml:0,ffb").startswith((b"m", b"l"))
        assert client.ask(b"bs")[:3] in (b"T05",)
        client.socket.sendall(frame(b"R00"))  # has no reply
        assert client.ask(b"vAttach;1").startswith(b"T")
        assert client.ask(b"vKill;1") == b"OK"
        assert client.ask(b"vRun;").startswith(b"T05")
        assert client.ask(b"D") == b"OK"


def test_large_reads_and_writes(server: Server) -> None:
    client = server.client()
    with client.socket:
        client.ask(b"QStartNoAckMode")
        sp = client.register("rsp") & ~0xFFF
        data = bytes(range(256)) * 16
        assert client.ask(b"X%x,%x:" % (sp, len(data)) + escape(data)) == b"OK"
        assert bytes.fromhex(client.ask(b"m%x,%x" % (sp, len(data))).decode()) == data
        assert client.ask(b"m%x,ffffffffffffffff" % sp)[:8] == b"00010203"
        assert client.ask(b"m%x,ffffffffffffffffff" % sp) == b"E01"
        assert client.ask(b"M%x,4:zz" % sp) == b"E01"


def test_a_client_that_hangs_up_in_the_middle(server: Server) -> None:
    for last in (b"$m10", frame(b"vCont;c"), b"\x03", b"$?#"):
        client = server.client()
        client.socket.sendall(last)
        client.socket.close()
    client = server.client()
    with client.socket:
        assert client.ask(b"?").startswith(b"T05")


def test_monitor_exit_ends_the_server(recorded: Recorded) -> None:
    server = Server(recorded, "--port", "0")
    with PlainGdb() as gdb:
        gdb.mi(f"-target-select remote {server.where}")
        gdb.run("monitor exit")
        with contextlib.suppress(GdbError):
            gdb.mi("-target-detach")
    assert deadlines.wait(server.process, DEADLINE_S) == 0
    server.close()
