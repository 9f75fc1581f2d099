"""Another user's client of a TCP port is refused."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from test_frontends import Server, recorded  # noqa: F401

from rdb.server import peers

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as s:
    try:
        s.sendall(b"$?#3f")
        data = s.recv(100)
    except (ConnectionResetError, BrokenPipeError):
        data = b""
sys.exit(0 if data else 7)
"""


def row(local: str, remote: str, state: str, uid: int) -> str:
    rest = "00000000:00000000 00:00000000 00000000"
    return f"   0: {local} {remote} {state} {rest}  {uid}        0 99\n"


@pytest.mark.parametrize(
    ("rows", "owner"),
    [
        ([row("0100007F:C350", "0100007F:1F90", "01", 1234)], 1234),
        # the other direction, another port, no longer connected: not it
        ([row("0100007F:1F90", "0100007F:C350", "01", 1)], None),
        ([row("0100007F:C351", "0100007F:1F90", "01", 2)], None),
        ([row("0100007F:C350", "0100007F:1F90", "06", 0)], None),
        (["garbage\n", row("0100007F:C350", "0100007F:1F90", "01", 3)], 3),
        ([], None),
    ],
)
def test_owners_in_the_kernels_list(tmp_path: Path, rows: list[str], owner: int | None) -> None:
    table = tmp_path / "tcp"
    table.write_text(HEAD + "".join(rows))
    asked = peers.owner_of(("127.0.0.1", 50000), ("127.0.0.1", 8080), [tmp_path / "none", table])
    assert asked == owner


def test_a_client_through_ipv6(tmp_path: Path) -> None:
    table = tmp_path / "tcp6"
    prefix = "0000000000000000FFFF0000"
    table.write_text(HEAD + row(f"{prefix}0100007F:C350", f"{prefix}0100007F:1F90", "01", 55))
    assert peers.owner_of(("127.0.0.1", 50000), ("127.0.0.1", 8080), [table]) == 55


def test_our_own_connection_is_found() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as peer,
    ):
        assert peers.allowed(peer)
        assert not peers.allowed(peer, [])


def test_a_client_that_is_gone_already_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # a reset, at once
        with listener.accept()[0] as peer:
            assert not peers.allowed(peer)


def test_another_user_is_refused(recorded: object) -> None:  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    server = Server(recorded, "--port", "0")
    try:
        done = [
            subprocess.run(
                ["/usr/bin/python3", "-I", "-c", CLIENT, str(server.port)],
                user=user,
                cwd="/",
                timeout=60,
                check=False,
            ).returncode
            for user in (65534, None)
        ]
    finally:
        server.close()
    assert done == [7, 0]
