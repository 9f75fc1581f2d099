"""Requests to the server: `qRdb.*` packets over GDB's own connection (rdb/server/queries.py)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gdb

_BY_CTRL_C = 130


class Refused(gdb.GdbError):
    """The server refused a search: there is nothing to find."""


class NotOurs(gdb.GdbError):
    """GDB is not connected to a recording."""

    def __init__(self) -> None:
        super().__init__("This command needs a recording; open one: rdb-open JOB [RANK]")


def connection() -> Any:
    inferior = gdb.selected_inferior()
    found = inferior.connection
    if found is None or not hasattr(found, "send_packet") or inferior.pid == 0:  # 0: detached
        raise NotOurs
    return found


def connected() -> bool:
    """Is GDB connected to a server of rdb?"""
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
    """Is a rank open?  After `detach` the connection remains, but there is no rank."""
    return gdb.selected_inferior().pid != 0 and connected()


def ask(name: str, text: str = "", waiting: Any = None) -> dict[str, Any]:
    """The server's answer.  Ctrl-C ends the request.

    WAITING is called with each answer that says that the request is under way; it is true to end
    the request as Ctrl-C does.  Raises Refused, NotOurs or gdb.GdbError; for an interrupt, too,
    unless the answer has a member "interrupted".
    """
    request = f"qRdb.{name}:{text}" if text else f"qRdb.{name}"
    interrupted = False
    # SIGINT in an exchange would leave its reply to the next one, so it is blocked in exchanges.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        answer = _exchange(request)
        while answer.get("pending"):
            enough = waiting is not None and waiting(answer)
            if enough or pressed():
                interrupted = True
                answer = _exchange("qRdb.cancel")
            else:
                answer = _exchange("qRdb.poll")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if "interrupted" in answer:
        return answer
    # GDB may have passed Ctrl-C to the server itself; then the answer says so.
    if answer.get("reason") == "interrupt" or interrupted or answer.get("exit_code") == _BY_CTRL_C:
        raise gdb.GdbError("Interrupted; still where you were.")
    if "error" in answer:
        hint = f"; {answer['hint']}" if answer.get("hint") else ""
        kind = Refused if answer["kind"] == "Refused" else gdb.GdbError
        raise kind(f"{answer['error']}{hint}")
    return answer


@contextmanager
def calm() -> Iterator[None]:
    """Context in which SIGINT is blocked, so that it does not break off GDB's own packets.

    Ask for it with `pressed`.  A SIGINT that was not asked for is dropped at the end, except within
    another such context.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if signal.SIGINT not in before:
            pressed()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pressed() -> bool:
    """Has Ctrl-C been pressed since the last call?  Needs a blocked SIGINT."""
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
