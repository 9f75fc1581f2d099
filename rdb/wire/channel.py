"""Messages between two processes that know the same secret.

Each end proves it by an HMAC over both ends' random numbers and addresses, so that neither a proof
heard before nor one passed on between two others is of use.  Every message then carries a MAC of
its number and content, with a key of that connection and direction: nobody between can add, change,
repeat or leave out one.  Nothing is encrypted.

A message is a JSON object and some bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import socket
import struct
from typing import Any

from rdb.errors import NotYours, RdbError, VersionMismatch

VERSION = 1
_MAGIC = b"rdbagent"
_NONCE_BYTES = 32
_PROOF_BYTES = 32
_MAC_BYTES = 16
_HELLO = struct.Struct(f">8sI{_NONCE_BYTES}s")
_HEAD = struct.Struct(">IQ")  # bytes of JSON, bytes that follow
_TEXT_MAX = 16 << 20
_DATA_MAX = 64 << 20
_HANDSHAKE_S = 20.0

Message = dict[str, Any]


class Refused(NotYours):
    """The other end does not know the secret, or there is no agent."""


class Closed(RdbError):
    """The other end is gone."""


class Channel:
    """Made by `connect` or `accept`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ours: bytes,
        theirs: bytes,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._ours, self._theirs = ours, theirs
        self._sent = self._received = 0
        self._sending = asyncio.Lock()

    async def send(self, message: Message, data: bytes = b"") -> None:
        text = json.dumps(message).encode()
        head = _HEAD.pack(len(text), len(data))
        async with self._sending:
            mac = _mac(self._ours, self._sent, head, text, data)
            self._sent += 1
            try:
                if self._writer.is_closing():  # Python 3.13's writelines() has no error for it
                    raise ConnectionResetError("it has closed the connection")
                self._writer.writelines((head, text, data, mac))
                await self._writer.drain()
            except (OSError, RuntimeError) as error:
                raise Closed(f"the agent is gone: {error}") from error

    async def receive(self) -> tuple[Message, bytes]:
        try:
            head = await self._reader.readexactly(_HEAD.size)
            text_bytes, data_bytes = _HEAD.unpack(head)
            if text_bytes > _TEXT_MAX or data_bytes > _DATA_MAX:
                raise Refused("a message of the agent is too long")
            text = await self._reader.readexactly(text_bytes)
            data = await self._reader.readexactly(data_bytes)
            mac = await self._reader.readexactly(_MAC_BYTES)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Closed("the agent is gone") from error
        if not hmac.compare_digest(mac, _mac(self._theirs, self._received, head, text, data)):
            raise Refused("a message that the agent did not send")
        self._received += 1
        message = json.loads(text)
        if not isinstance(message, dict):
            raise Refused("a message of the agent is no object")
        return message, data

    def close(self) -> None:
        self._writer.close()

    async def closed(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # it was gone before
            return


async def connect(host: str, port: int, secret: bytes) -> Channel:
    """As the one who asks."""
    try:
        async with asyncio.timeout(_HANDSHAKE_S):
            reader, writer = await asyncio.open_connection(host, port)
            return await _authenticate(reader, writer, secret, asks=True)
    except TimeoutError as error:
        raise Closed(f"{host}:{port}: no answer in {_HANDSHAKE_S:.0f} s") from error
    except OSError as error:
        raise Closed(f"{host}:{port}: {error.strerror or error}") from error


async def accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
) -> Channel:
    """As the one who is asked; says nothing that helps who does not know the secret."""
    try:
        async with asyncio.timeout(_HANDSHAKE_S):
            return await _authenticate(reader, writer, secret, asks=False)
    except TimeoutError as error:
        writer.close()
        raise Closed("no handshake") from error


def _watched(writer: asyncio.StreamWriter) -> None:
    """A host that is gone without a word is noticed within half a minute (tcp(7))."""
    link = writer.get_extra_info("socket")
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, 10),
        (socket.TCP_KEEPINTVL, 5),
        (socket.TCP_KEEPCNT, 4),
        (socket.TCP_USER_TIMEOUT, 30_000),
    ):
        link.setsockopt(socket.IPPROTO_TCP, option, value)


async def _authenticate(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes, asks: bool
) -> Channel:
    """The one who asks proves first: who is asked proves nothing to a stranger."""
    try:
        _watched(writer)
        ours = _HELLO.pack(_MAGIC, VERSION, secrets.token_bytes(_NONCE_BYTES))
        writer.write(ours)
        theirs = await reader.readexactly(_HELLO.size)
        magic, version, _ = _HELLO.unpack(theirs)
        if magic != _MAGIC:
            raise Refused("that is no agent of rdb's")
        if version != VERSION:
            raise VersionMismatch(f"agent protocol v{version}, this rdb speaks v{VERSION}")
        hellos = ours + theirs if asks else theirs + ours
        here, there = writer.get_extra_info("sockname"), writer.get_extra_info("peername")
        ends = repr((here[:2], there[:2]) if asks else (there[:2], here[:2])).encode()
        said = hellos + ends
        if asks:
            writer.write(_derived(secret, b"asks", said))
        proof = await reader.readexactly(_PROOF_BYTES)
        if not hmac.compare_digest(proof, _derived(secret, b"answers" if asks else b"asks", said)):
            raise Refused("the other end does not know the job's secret")
        if not asks:
            writer.write(_derived(secret, b"answers", said))
    except (asyncio.IncompleteReadError, OSError) as error:
        writer.close()
        raise Refused("the agent refused: is the job's secret another one there?") from error
    except RdbError:
        writer.close()
        raise
    down, up = _derived(secret, b"down", said), _derived(secret, b"up", said)
    return Channel(reader, writer, *((down, up) if asks else (up, down)))


def _derived(secret: bytes, what: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, b"rdb agent " + what + b"\0" + said, "sha256")


def _mac(key: bytes, number: int, *parts: bytes) -> bytes:
    found = hashlib.blake2b(number.to_bytes(8), key=key, digest_size=_MAC_BYTES)
    for part in parts:
        found.update(part)
    return found.digest()
