"""`qXfer` objects (GDB manual, E.4): target description, auxv, the program's path, threads."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from rdb.server.packets import PACKET_SIZE, escape
from rdb.server.registers import TARGET_XML

_AT_NULL, _AT_ENTRY = 0, 9


class Objects(NamedTuple):
    """The bytes of each object.  Threads and siginfo change with the position."""

    exec_file: str
    auxv: bytes
    threads: Callable[[], bytes]
    siginfo: Callable[[], bytes | None]  # None: no signal is delivered here

    def handle(self, body: bytes) -> bytes:
        """The reply to `qXfer:BODY`, `object:read:annex:offset,length`; empty: no such object."""
        try:
            name, operation, annex, window = body.split(b":")
            offset_text, length_text = window.split(b",")
            offset, length = int(offset_text, 16), int(length_text, 16)
        except ValueError:
            return b"E00"
        if operation != b"read":
            return b""
        data = self._object(name.decode("latin-1"), annex)
        if data is None:
            return b"E00" if name in (b"features", b"siginfo") else b""
        part = data[offset : offset + min(length, PACKET_SIZE // 2 - 64)]
        more = offset + len(part) < len(data)
        return (b"m" if more else b"l") + escape(part)

    def _object(self, name: str, annex: bytes) -> bytes | None:
        if name == "features":
            return TARGET_XML.encode("ascii") if annex == b"target.xml" else None
        if name == "auxv":
            return self.auxv
        if name == "exec-file":
            return self.exec_file.encode("utf-8", "surrogateescape")
        if name == "threads":
            return self.threads()
        if name == "siginfo":
            return self.siginfo()
        return None


def correct_auxv(auxv: bytes, entry: int) -> bytes:
    """The auxiliary vector with the AT_ENTRY of the program's file.

    In memory AT_ENTRY is the address at which rdb takes over from ld.so.
    """
    pairs = [
        (key, entry if key == _AT_ENTRY and entry else value)
        for key, value in struct.iter_unpack("<QQ", auxv[: len(auxv) // 16 * 16])
    ]
    if _AT_NULL in [key for key, _ in pairs]:
        pairs = pairs[: [key for key, _ in pairs].index(_AT_NULL) + 1]
    return b"".join(struct.pack("<QQ", key, value) for key, value in pairs)
