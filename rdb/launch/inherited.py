"""Signals that whoever started rdb had blocked or ignored: that is the program's, not rdb's.

With SIGCHLD ignored nobody can wait for a child, and a replica or a GDB that begins with blocked
signals does not hear its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

_blocked: set[int] = set()
_children_ignored = False


def put_aside() -> None:
    """Before anything else: rdb itself begins as if it were started by a shell."""
    global _blocked, _children_ignored
    _blocked = set(signal.pthread_sigmask(signal.SIG_SETMASK, ()))
    _children_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if _children_ignored:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def hand_on() -> None:
    """Just before the program is executed."""
    # Python ignores these two, and what is ignored stays so over exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if _children_ignored:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, _blocked)


def for_rdb_exec(env: Mapping[str, str]) -> dict[str, str]:
    """Variables of ld.so(8) are for the program (interposer/answer/linker_variables.h)."""
    kept = ("LD_LIBRARY_PATH", "LD_BIND_NOW")
    hidden = {name for name in env if name.startswith("LD_") and name not in kept}
    return {f"rdb:{name}" if name in hidden else name: value for name, value in env.items()}


def spawn(line: list[str], env: Mapping[str, str]) -> int:
    """Starts it; OSError if it cannot be executed."""
    defaults = [signal.SIGPIPE, signal.SIGXFSZ]
    if not _children_ignored:
        return os.posix_spawn(line[0], line, env, setsigdef=defaults, setsigmask=_blocked)
    child = os.fork()  # posix_spawn can ignore nothing
    if child == 0:
        try:
            hand_on()
            os.execve(line[0], line, env)
        finally:
            os._exit(127)
    return child
