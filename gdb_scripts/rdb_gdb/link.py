"""Asking the server: `qRdb.*` packets over GDB's own connection (rdb/server/queries.py)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gdb

_BY_CTRL_C = 130


class Refused(gdb.GdbError):
    """The server's answer is that there is none."""


class NotOurs(gdb.GdbError):
    """What GDB is connected to, if anything, is no recording."""

    def __init__(self) -> None:
        super().__init__("This command needs a recording: rdb-open JOB [RANK]")


def connection() -> Any:
    inferior = gdb.selected_inferior()
    found = inferior.connection
    if found is None or not hasattr(found, "send_packet") or inferior.pid == 0:  # 0: detached
        raise NotOurs
    return found


def connected() -> bool:
    """Does GDB talk to a server of ours?"""
    found = gdb.selected_inferior().connection
    if found is None or not hasattr(found, "send_packet") or not found.is_valid():
        return False
    if found not in _ours:
        try:
            _ours[found] = bool(found.send_packet("qRdb.info"))
        except (gdb.error, ValueError):
            return False
    return _ours[found]


_ours: dict[Any, bool] = {}


def opened() -> bool:
    """Is there a rank of a recording?  After `detach` the connection is, but no rank."""
    return gdb.selected_inferior().pid != 0 and connected()


def ask(name: str, text: str = "", waiting: Any = None) -> dict[str, Any]:
    """The server's answer.  An interrupt by the user is passed on and ends the request.

    `waiting` hears now and then how far it is.  An answer that can be a part of the whole says so
    itself, as "interrupted".
    """
    request = f"qRdb.{name}:{text}" if text else f"qRdb.{name}"
    interrupted = False
    # An exchange that is broken off leaves its reply to the next one: Ctrl-C waits between them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        answer = _exchange(request)
        while answer.get("pending"):
            if waiting is not None:
                waiting(answer)
            if pressed():
                interrupted = True
                answer = _exchange("qRdb.cancel")
            else:
                answer = _exchange("qRdb.poll")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if "interrupted" in answer:
        return answer
    # GDB may have heard the key itself and told the server: then the server says so.
    if answer.get("reason") == "interrupt" or interrupted or answer.get("exit_code") == _BY_CTRL_C:
        raise gdb.GdbError("Interrupted; still where you were.")
    if "error" in answer:
        hint = f"; {answer['hint']}" if answer.get("hint") else ""
        kind = Refused if answer["kind"] == "Refused" else gdb.GdbError
        raise kind(f"{answer['error']}{hint}")
    return answer


@contextmanager
def calm() -> Iterator[None]:
    """Ctrl-C waits until it is asked for (`pressed`): GDB's own packets are not to be broken off
    either.  What comes too late is dropped, but within another calm, which may still ask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if signal.SIGINT not in before:
            pressed()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pressed() -> bool:
    """Has Ctrl-C been pressed since the last time?"""
    if signal.SIGINT not in signal.sigpending():
        return False
    signal.sigwait({signal.SIGINT})
    return True


def _exchange(request: str) -> dict[str, Any]:
    reply = connection().send_packet(request)
    if not reply:
        raise NotOurs
    answer: dict[str, Any] = json.loads(bytes.fromhex(reply.decode("ascii")))
    return answer
