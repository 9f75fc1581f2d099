"""The template: a GDB that has read the program's symbols, from which GDBs of ranks are forked.

A started GDB costs half a second and 40 MB, nearly all of it for symbols.  A copy shares them
(`gdb_scripts/rdb_gdb/commands/forking.py`), and so does the copy of its server.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import struct
import tempfile

from rdb.errors import RdbError
from rdb.session.ending import to_its_end
from rdb.session.gdb import LINE_LIMIT, GdbProcess
from rdb.undoing import on_failure_await

_OPEN_S = 120.0
_CREDENTIALS = struct.Struct("3i")

_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Copy:
    """A forked GDB.  It is not our child, but has the interface of asyncio.subprocess.Process."""

    def __init__(self, pid: int, talk: _Ends, errors: _Ends) -> None:
        self.pid = pid
        self.stdin = talk[1]
        self.stdout = talk[0]
        self.stderr = errors[0]
        self._errors = errors[1]
        self._over = asyncio.Event()
        self._fd = os.pidfd_open(pid)
        asyncio.get_running_loop().add_reader(self._fd, self._ended)

    @property
    def returncode(self) -> int | None:
        """-1 after the end: the exit status of another process's child is not known."""
        return -1 if self._over.is_set() else None

    def kill(self) -> None:
        if not self._over.is_set():
            signal.pidfd_send_signal(self._fd, signal.SIGKILL)

    async def wait(self) -> int:
        await self._over.wait()
        return -1

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._over.set()
        self._errors.close()


class Template:
    """The GDB that is forked; `open` makes it.  Close the copies before it."""

    def __init__(self, gdb: GdbProcess, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._gdb = gdb
        self._folder = folder
        self._lock = asyncio.Lock()
        self._came: asyncio.Queue[_Ends] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._usable = True

    @classmethod
    async def open(cls, job: str, address: str) -> Template:
        """Starts the template with the symbols of the program of ADDRESS.  Raises RdbError."""
        folder = tempfile.TemporaryDirectory(prefix="rdb-")
        # fork(2) copies only one thread, so GDB must have no worker threads.
        options = ["-iex", "maint set worker-threads 0"]
        gdb = await GdbProcess.with_extension("the gdb that others are forked from", options)
        template = cls(gdb, folder)
        async with on_failure_await(template.close):
            template._server = await asyncio.start_unix_server(
                template._connected, os.path.join(folder.name, "session"), limit=LINE_LIMIT
            )
            said = await gdb.execute(f"rdb-template {shlex.quote(job)} {address} {folder.name}")
            if said.error is not None:
                raise RdbError(said.error)
        return template

    async def fork(self, address: str, at_end: bool, name: str) -> GdbProcess:
        """A GDB at the start or end of that rank.  Raises RdbError, OSError or TimeoutError."""
        task = asyncio.create_task(self._fork(address, at_end))
        try:
            copy = await asyncio.shield(task)
        except asyncio.CancelledError:
            # The copy connects all the same; it must not be taken for the next one.
            task.add_done_callback(_unwanted)
            raise
        failed = (await copy.stderr.readline()).decode(errors="replace")
        if failed != "\n":
            copy.kill()
            raise RdbError(failed.strip() or "its GDB ended by itself")
        return GdbProcess(copy, name)

    async def _fork(self, address: str, at_end: bool) -> Copy:
        async with self._lock:
            if not self._usable:
                raise RdbError("no GDB can be forked")
            where = "END" if at_end else "START"
            said = await self._gdb.execute(
                f"rdb-fork {address} {where} {self._folder.name}", _OPEN_S
            )
            if said.error is not None:
                raise RdbError(said.error)
            self._usable = False  # until both connections have come
            talk = await asyncio.wait_for(self._came.get(), _OPEN_S)
            errors = await asyncio.wait_for(self._came.get(), _OPEN_S)
            self._usable = True
            return Copy(_pid(talk), talk, errors)

    @to_its_end
    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._gdb.close()
        self._folder.cleanup()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._came.put_nowait((reader, writer))


def _pid(ends: _Ends) -> int:
    connection: socket.socket = ends[1].get_extra_info("socket")
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[0])


def _unwanted(task: asyncio.Task[Copy]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().kill()
