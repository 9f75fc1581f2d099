"""Copies of a server, each for another rank.

A session over many ranks opens one rank, and forks its GDB and this server once the program's
symbols are read (`rdb/session/template.py`).  Copies share memory and start at once.  GDB keeps the
files open from which it has read symbols, so a copy of the server keeps them open, too.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.recording import RankRecording, open_job
from rdb.server.turning import program_of
from rdb.timeline.timeline import Timeline

_HEARD_FDS = (0, 1, 2)

Serve = Callable[[Timeline, RankRecording, int], object]
"""Serves the rank over a descriptor until the other side closes it."""


@dataclass
class Forking:
    """The job, and the program whose symbols the copies share."""

    job: str
    recording: RankRecording

    def __post_init__(self) -> None:
        self._copies: set[int] = set()

    def fork(self, name: str, path: str, files: Iterable[int], serve: Serve) -> int:
        """Makes a copy for the rank NAME, which connects to the socket PATH; its process id.

        The copy keeps the descriptors FILES.  It first sends one line: empty, or why the rank
        cannot be opened.  Raises RdbError if the rank runs another program.
        """
        self._collect()
        # Garbage of this process, if collected in the copy, would close descriptors of the copy.
        gc.collect()
        gc.freeze()
        recording = open_job(self.job).rank(name)
        recording.check()
        if program_of(recording) != program_of(self.recording):
            raise RdbError(f"{name} runs another program than {self.recording.name}")
        pid = os.fork()
        if pid:
            self._copies.add(pid)
            return pid
        code = 1
        try:
            _serve(self.job, name, path, files, serve)
            code = 0
        finally:
            # The callers' frames belong to the server that was copied.
            sys.stderr.flush()
            os._exit(code)

    def _collect(self) -> None:
        for pid in list(self._copies):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._copies.discard(pid)


def _serve(job: str, name: str, path: str, files: Iterable[int], serve: Serve) -> None:
    _close_all_but({*_HEARD_FDS, *files})
    recording = open_job(job).rank(name)  # its own descriptors
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        try:
            timeline = Timeline(recording)
        except RdbError as error:
            connection.sendall(error.line().encode() + b"\n")
            return
        with timeline:
            connection.sendall(b"\n")
            serve(timeline, recording, connection.fileno())


def _close_all_but(kept: Iterable[int]) -> None:
    """Closes the replicas' sockets, among others: else the replicas would outlive their server."""
    first = 0
    for fd in sorted(kept):
        if first < fd:
            os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
