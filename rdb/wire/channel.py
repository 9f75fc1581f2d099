"""Messages between two processes of a job, over TLS 1.3.

Both ends have the job's key and trust only its certificate (identity.py).  A channel ends if one
end lacks the key, or if a message was changed, repeated or left out.

A message is a JSON object (at most 16 MiB) and bytes (at most 64 MiB).
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from rdb.errors import NotYours, RdbError, VersionMismatch
from rdb.trace import tracer
from rdb.wire.identity import Identity

VERSION = 2
_MAGIC = b"rdbagent"
_HELLO = struct.Struct(">8sI")
_HEAD = struct.Struct(">IQ")  # bytes of JSON, bytes that follow
_TEXT_MAX = 16 << 20
_DATA_MAX = 64 << 20
_HANDSHAKE_S = 20.0
_GOODBYE_S = 2.0
_trace = tracer("control")

Message = dict[str, Any]


class Refused(NotYours):
    """The other end has no certificate or another job's, or does not speak this protocol."""


class Closed(RdbError):
    """The connection has ended, or could not be made."""


class Channel:
    """One connection; `connect` and `listen` make it.

    `send` and `receive` raise Closed when the connection has ended; `receive` raises Refused for a
    message that breaks the protocol.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()

    async def send(self, message: Message, data: bytes = b"") -> None:
        text = json.dumps(message).encode()
        if _trace:
            _trace(f"<- {text!r} and {len(data)} bytes")
        head = _HEAD.pack(len(text), len(data))
        async with self._sending:
            try:
                if self._writer.is_closing():  # Python 3.13's writelines() has no error for it
                    raise ConnectionResetError("the agent closed the connection")
                self._writer.writelines((head, text, data))
                await self._writer.drain()
            except (OSError, RuntimeError) as error:
                raise Closed(f"lost the connection to the agent: {error}") from error

    async def receive(self) -> tuple[Message, bytes]:
        try:
            head = await self._reader.readexactly(_HEAD.size)
            text_bytes, data_bytes = _HEAD.unpack(head)
            if text_bytes > _TEXT_MAX or data_bytes > _DATA_MAX:
                raise Refused("the agent sent a message that is too long")
            text = await self._reader.readexactly(text_bytes)
            data = await self._reader.readexactly(data_bytes)
        except ssl.SSLError as error:
            raise Refused("a message from the agent was changed on its way (TLS)") from error
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Closed("lost the connection to the agent") from error
        if _trace:
            _trace(f"-> {text!r} and {len(data)} bytes")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused("the agent sent a message that is not JSON") from error
        if not isinstance(message, dict):
            raise Refused("the agent sent a message that is not a JSON object")
        return message, data

    def close(self) -> None:
        self._writer.close()

    async def closed(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # it was gone before
            return


async def connect(host: str, port: int, identity: Identity) -> Channel:
    """Opens a channel.  Raises Refused, Closed (also after 20 s without an answer) or
    VersionMismatch."""
    try:
        async with asyncio.timeout(_HANDSHAKE_S):
            streams = await asyncio.open_connection(
                host,
                port,
                ssl=identity.asks,
                server_hostname="",
                ssl_shutdown_timeout=_GOODBYE_S,
            )
            return await _greeted(*streams)
    except ssl.SSLCertVerificationError as error:
        raise Refused(f"{host}:{port}: the agent has another job's certificate") from error
    except ssl.SSLError as error:
        raise Refused(f"{host}:{port}: not an agent of rdb") from error
    except TimeoutError as error:
        raise Closed(f"{host}:{port}: no answer in {_HANDSHAKE_S:.0f} s") from error
    except OSError as error:
        raise Closed(f"{host}:{port}: {error.strerror or error}") from error


def own_address() -> tuple[str, str]:
    """Where to listen for other hosts, and the address, or name, at which they reach this one.

    That is what the host's name means here.  If that is no address of an interface other than the
    loopback device (a line in /etc/hosts of this host alone; a translated address), only the others
    know which interface it is, and all of them listen.
    """
    name = os.uname().nodename
    try:
        address = socket.gethostbyname(name)
        with socket.socket(type=socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return "0.0.0.0", name
    return ("0.0.0.0", name) if address.startswith("127.") else (address, address)


async def listen(
    host: str, identity: Identity, welcome: Callable[[Channel], Awaitable[None]]
) -> tuple[asyncio.Server, int]:
    """Accepts channels; returns the server and its port.

    WELCOME is called with each channel.  A connection without the job's certificate is closed
    without a message.
    """

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HANDSHAKE_S):
                channel = await _greeted(reader, writer)
        except (RdbError, TimeoutError):
            return
        await welcome(channel)

    server = await asyncio.start_server(
        met,
        host,
        0,
        ssl=identity.answers,
        ssl_handshake_timeout=_HANDSHAKE_S,
        ssl_shutdown_timeout=_GOODBYE_S,
    )
    return server, int(server.sockets[0].getsockname()[1])


def _watched(writer: asyncio.StreamWriter) -> None:
    """Sets keepalive options so that a dead host is noticed within 30 s (tcp(7))."""
    link = writer.get_extra_info("socket")
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, 10),
        (socket.TCP_KEEPINTVL, 5),
        (socket.TCP_KEEPCNT, 4),
        (socket.TCP_USER_TIMEOUT, 30_000),
    ):
        link.setsockopt(socket.IPPROTO_TCP, option, value)


async def _greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Channel:
    """Exchanges magic and version.

    Only the server's greeting tells a client that its certificate was accepted: in TLS 1.3 the
    client's handshake ends before the server has checked it (RFC 8446, 4.4).
    """
    try:
        _watched(writer)
        writer.write(_HELLO.pack(_MAGIC, VERSION))
        magic, version = _HELLO.unpack(await reader.readexactly(_HELLO.size))
        if magic != _MAGIC:
            raise Refused("not an agent of rdb")
        if version != VERSION:
            raise VersionMismatch(f"agent protocol v{version}, this rdb speaks v{VERSION}")
    except BaseException as error:  # also a cancellation by the timeout
        writer.close()
        if isinstance(error, (asyncio.IncompleteReadError, OSError)):
            raise Refused(
                "the agent refused the connection: it may have another job's certificate"
            ) from error
        raise
    return Channel(reader, writer)
