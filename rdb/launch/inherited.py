"""Signals that were blocked or ignored when rdb was started: for the program, not for rdb.

With SIGCHLD ignored rdb could not wait for a child, and a replica or a GDB that starts with blocked
signals does not receive its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

_blocked: set[int] = set()
_children_ignored = False
# Python ignores these two, and execve keeps that. The program `rdb` (interposer/main/rdb.c) stores
# how they were before in RDB_STARTED_IGNORING.
_PYTHONS = (signal.SIGPIPE, signal.SIGXFSZ)
_defaults: tuple[signal.Signals, ...] = _PYTHONS
_LIBCS = {32, 33}  # libc's own signals, which its functions never block (nptl(7))
_RT_SIGPROCMASK = 14


def put_aside() -> None:
    """Called first: resets the signals to a shell's defaults and remembers their state."""
    global _blocked, _children_ignored, _defaults
    ignored = os.environ.pop("RDB_STARTED_IGNORING", "").split(",")
    _defaults = tuple(one for one in _PYTHONS if one.name.removeprefix("SIG") not in ignored)
    _blocked = set(signal.pthread_sigmask(signal.SIG_SETMASK, ()))
    _children_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if _children_ignored:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def hand_on() -> None:
    """Called just before the program is executed: restores the remembered state."""
    for number in _defaults:
        signal.signal(number, signal.SIG_DFL)
    if _children_ignored:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, _blocked - _LIBCS)
    if _blocked & _LIBCS:
        import ctypes

        mask = ctypes.c_uint64(sum(1 << number - 1 for number in _blocked))
        ctypes.CDLL(None).syscall(_RT_SIGPROCMASK, signal.SIG_SETMASK, ctypes.byref(mask), None, 8)


def spawn(line: list[str], env: Mapping[str, str]) -> int:
    """Starts LINE, whose first word PATH may have to find, and returns its process id.

    OSError: it cannot be executed.
    """
    if not _children_ignored and not _blocked & _LIBCS:
        return os.posix_spawnp(line[0], line, env, setsigdef=_defaults, setsigmask=_blocked)
    child = os.fork()  # posix_spawn can neither ignore signals nor block libc's own
    if child == 0:
        try:
            hand_on()
            os.execvpe(line[0], line, env)
        finally:
            os._exit(127)
    return child
