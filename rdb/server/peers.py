"""The user at the other end of a connection over the loopback, to which any user can connect.

The kernel lists the sockets of the network namespace with their owners (proc(5),
/proc/net/tcp).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"  # the owner's column is valid only in this state
_MAPPED = "0000000000000000FFFF0000"  # ::ffff:0:0/96, in words of the machine's byte order


def allowed(peer: socket.socket, tables: Iterable[Path] = TABLES) -> bool:
    """Does the other end belong to this user or to root?  False if it is gone already."""
    try:
        theirs = peer.getpeername()
    except OSError:
        return False
    owner = owner_of(theirs, peer.getsockname(), tables)
    return owner is not None and owner in (os.geteuid(), 0)


def owner_of(
    theirs: tuple[str, int], ours: tuple[str, int], tables: Iterable[Path] = TABLES
) -> int | None:
    """User id of the socket at `theirs` that is connected to `ours`; None: it is not listed."""
    wanted = _address(theirs), _address(ours)
    for table in tables:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue  # for example no IPv6; a peer in no table is refused
        for line in lines:
            fields = line.split()
            if len(fields) < 8 or fields[3] != _ESTABLISHED:
                continue
            if (fields[1].removeprefix(_MAPPED), fields[2].removeprefix(_MAPPED)) == wanted:
                return int(fields[7])
    return None


def _address(address: tuple[str, int]) -> str:
    """127.0.0.1:80 as the tables have it: 0100007F:0050."""
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    return f"{number:08X}:{address[1]:04X}"
