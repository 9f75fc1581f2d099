"""The fields of an event that are texts, and what a query may call their values.

`signal == SIGUSR1`, `signal == 'usr1'` and `signal == 10` mean one value, as do `errno == ENOENT`
and `errno == 2`, and `name == 'MPI_Recv'` and `name == mpi.recv`.
"""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Callable

from rdb.recording.log.record import signal_name
from rdb.recording.log.verbs_calls import OPCODES
from rdb.recording.query.fields import KINDS, dotted, event_names
from rdb.recording.query.verbs_fields import STATUS

_SIGNALS = frozenset(one.name for one in signal.Signals)
_UNNAMED = re.compile(r"syscall_\d+|call|\d+")


def _name(text: str) -> str | None:
    name = dotted(text)
    return name if name in event_names() or _signal(text) or _UNNAMED.fullmatch(name) else None


def _kind(text: str) -> str | None:
    kind = text.lower()
    return kind if kind in ("mpi", "verbs", *KINDS.values()) else None


def _errno(text: str) -> str | None:
    if re.fullmatch(r"-?\d+", text):
        return errno.errorcode.get(abs(int(text)))
    return text.upper() if text.upper() in errno.errorcode.values() else None


def _signal(text: str) -> str | None:
    if text.isdecimal():
        return signal_name(int(text)) if 0 < int(text) <= signal.SIGRTMAX else None
    name = f"SIG{text.upper().removeprefix('SIG')}"
    return name if name in _SIGNALS else None


def _one_of(names: tuple[str, ...], prefix: str) -> Callable[[str], str | None]:
    def value(text: str) -> str | None:
        if text.isdecimal() and int(text) < len(names):
            return names[int(text)]
        name = text.upper().removeprefix(prefix)
        return name if name in names else None

    return value


def _path(text: str) -> str:
    return text


TEXTS: dict[str, Callable[[str], str | None]] = {
    "name": _name,
    "kind": _kind,
    "errno": _errno,
    "signal": _signal,
    "operation": _one_of((*OPCODES, "RECV"), "IBV_WR_"),
    "status": _one_of(STATUS, "IBV_WC_"),
    "path": _path,
}
"""Field -> its value from a text or a number of a query; None: it never has this value."""


def part(field: str, text: str) -> str:
    """A text that is looked for inside of a field's value, in the case of these values."""
    if field == "path":
        return text
    return dotted(text) if field in ("name", "kind") else text.upper()
