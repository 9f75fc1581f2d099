"""rdb-template, rdb-fork: a GDB that has read a rank's symbols, and copies of it for other ranks.

For programs that drive many GDBs (rdb/session/template.py): copies share the memory of the symbols,
and start at once.  The template must have no worker threads (`maint set worker-threads 0`), since
fork(2) copies only the calling thread.
"""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import gdb

from .. import link
from ..state import bookmarks, conditions, history, place
from . import names, opening
from .command import Command, command, take_over

_DEADLINE_S = 60.0
_PR_SET_PDEATHSIG = 1  # prctl(2)
_server: Any = None
_made = 0


@command("rdb-template", gdb.COMMAND_FILES)
class Template(Command):
    """Open a rank to make copies of this GDB: rdb-template JOB RANK FOLDER
    For programs that drive GDB.  The rank stands at its end, where the symbols of all libraries can
    be read.  Do not move it after that.  Sockets are made in FOLDER."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        global _server
        import ctypes
        import subprocess

        libc = ctypes.CDLL(None)
        job, rank, folder = gdb.string_to_argv(argument)
        opening.prepare()
        path = os.path.join(folder, "server")
        serve = [*opening.rdb_command(), "serve", job, "--rank", rank]
        # Not by GDB's `target remote |`: at its end a copy of GDB would kill that server.
        _server = subprocess.Popen(
            [*serve, "--socket", path, "--once"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: _end_with_us(libc),
        )
        if not _server.stdout.readline():
            raise gdb.GdbError(opening.why_not([*serve, "--stdio"]) or f"cannot open {job}")
        gdb.execute(f"target extended-remote {path}", to_string=True)
        take_over()
        opening.use_sources(link.ask("info").get("sources"))
        place.seek("END")
        gdb.execute("backtrace", to_string=True)


def _end_with_us(libc: Any) -> None:
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


@command("rdb-fork", gdb.COMMAND_STATUS)
class Fork(Command):
    """Make a copy of this GDB for a rank: rdb-fork RANK START|END FOLDER
    For programs that drive GDB.  The copy connects to the socket `session` in FOLDER twice: for
    standard input and output, and for its standard error, where a line comes first: nothing, or
    what failed."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        global _made
        import socket

        rank, where, folder = gdb.string_to_argv(argument)
        _made += 1
        path = os.path.join(folder, f"server-{_made}")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(1)
            link.ask("fork", f"{rank},{path}")
            if os.fork():
                return
            _stand_alone(listener, where, os.path.join(folder, "session"))


def _stand_alone(listener: Any, where: str, path: str) -> None:
    """In the copy: replaces the descriptors shared with the template by its own."""
    import socket

    os.setsid()
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(path)
        os.dup2(talk.fileno(), 0)
        os.dup2(talk.fileno(), 1)
    with socket.socket(socket.AF_UNIX) as errors:
        errors.connect(path)
        os.dup2(errors.fileno(), 2)
    try:
        _new_pipes()
        _new_server(listener)
        answer = place.seek(where)
        place.libraries_are(answer)
        names.forget()
        conditions.forget()
        bookmarks.known.clear()
        history.log.begin()
    except (OSError, gdb.error, gdb.GdbError) as error:
        os.write(2, f"{error}\n".replace("\n", " ").strip().encode() + b"\n")
        os._exit(1)
    os.write(2, b"\n")


def _new_pipes() -> None:
    """Replaces the pipes by which GDB wakes itself up: a shared pipe would wake another GDB."""
    ends: dict[str, list[int]] = {}
    for fd in _descriptors():
        link_ = os.readlink(f"/proc/self/fd/{fd}")
        if re.match(r"pipe:|anon_inode:\[eventfd\]", link_) and fd > 2:
            ends.setdefault(link_, []).append(fd)
    for fds in ends.values():
        modes = {os.O_ACCMODE & _flags(fd): fd for fd in fds}
        if len(fds) == 2 and set(modes) == {os.O_RDONLY, os.O_WRONLY}:
            fresh = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            for new, old in zip(fresh, (modes[os.O_RDONLY], modes[os.O_WRONLY])):
                os.dup2(new, old, inheritable=False)
                os.close(new)


def _flags(fd: int) -> int:
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:
        return next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))


def _new_server(listener: Any) -> None:
    """Replaces the connection to the server by one to the server's copy.  Raises OSError."""
    listener.settimeout(_DEADLINE_S)
    served, _ = listener.accept()
    os.unlink(listener.getsockname())
    said = b""
    while not said.endswith(b"\n"):
        part = served.recv(1)
        if not part:
            raise OSError("the server has ended")
        said += part
    if said != b"\n":
        raise OSError(said.decode(errors="replace").strip())
    with served:
        os.dup2(served.fileno(), _remote())


def _remote() -> int:
    """The descriptor of GDB's connection to the server.  Raises OSError."""
    import socket

    for fd in _descriptors():
        if fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
            with socket.socket(fileno=os.dup(fd)) as one:
                try:
                    if os.path.basename(one.getpeername()) == "server":
                        return fd
                except (OSError, TypeError):
                    continue
    raise OSError("GDB has no connection to a server")


def _descriptors() -> list[int]:
    """Open descriptors, without that of the directory that lists them."""
    listed = [int(name) for name in os.listdir("/proc/self/fd")]
    return [fd for fd in listed if os.path.exists(f"/proc/self/fd/{fd}")]
