"""Traces of what rdb does, for its developers: RDB_TRACE=TOPIC,...

Lines go to stderr or are appended to RDB_TRACE_FILE.  Use the file to trace a debug session:
nobody sees the stderr of processes that GDB starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from rdb.errors import Usage

TOPICS = {
    "agent": "requests to the agents in replicas",
    "control": "commands to the GDBs, and messages between agents of hosts",
    "event": "events of the recorded program (interposer/base/trace.h)",
    "mpi": "its calls of MPI",
    "rsp": "packets of the GDB remote protocol",
    "verbs": "its calls of verbs",
}
_MOST = 200  # characters of a line


def check_topics() -> None:
    """Raises Usage if RDB_TRACE names an unknown topic or RDB_TRACE_FILE cannot be opened."""
    for word in filter(None, os.environ.get("RDB_TRACE", "").split(",")):
        if word not in TOPICS:
            raise Usage(f"RDB_TRACE: {word} is none of {', '.join(TOPICS)}")
    _file(os.environ.get("RDB_TRACE_FILE"))


def tracer(topic: str) -> Callable[[str], None] | None:
    """A function that writes one line of TOPIC; None if RDB_TRACE does not name TOPIC.

    Raises Usage if RDB_TRACE_FILE cannot be opened.
    """
    assert topic in TOPICS
    if topic not in os.environ.get("RDB_TRACE", "").split(","):
        return None
    fd = _file(os.environ.get("RDB_TRACE_FILE"))

    def write(text: str) -> None:
        cut = text if len(text) <= _MOST else f"{text[:_MOST]}... ({len(text)} characters)"
        os.write(fd, f"rdb[{os.getpid()}] {topic} {cut}\n".encode(errors="backslashreplace"))

    return write


@cache
def _file(path: str | None) -> int:
    if not path:
        return 2
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Usage(f"RDB_TRACE_FILE: {path}: {error.strerror}") from error
