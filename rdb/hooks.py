"""What a Python program may ask of rdb: the same as interposer/include/rdb.h.

Does nothing when the program does not run under rdb.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable

_CHECKPOINT, _HOOKS = 0x72646263, 0x72646268
_USED, _POINT, _TAKE, _FAILED, _GENERATION, _, _, _DATA = range(8)
_ROOM = 4096

Callback = Callable[[], object]

_before: list[Callback] = []
_after: list[Callback] = []
_restarted: list[Callback] = []
_prctl = ctypes.CDLL(None).prctl
_seen = 0
_running = False


def _hooks(what: int, *more: object) -> int:
    words = [*more, *(0,) * (3 - len(more))]
    return int(_prctl(_HOOKS, ctypes.c_ulong(what), *map(_word, words)))


def _word(value: object) -> object:
    return ctypes.c_ulong(value) if isinstance(value, int) else value


def generation() -> int:
    """The number of times that the program has been restarted; 0: never."""
    return max(0, _hooks(_GENERATION))


def _add(where: list[Callback], callback: Callback) -> Callback:
    global _seen
    if not (_before or _after or _restarted):
        _seen = generation()
    _hooks(_USED)
    where.append(callback)
    return callback


def before_checkpoint(callback: Callback) -> Callback:
    """Runs CALLBACK before a checkpoint, at a safe point.  If it raises, none is taken."""
    return _add(_before, callback)


def after_checkpoint(callback: Callback) -> Callback:
    """Runs CALLBACK after a checkpoint, and after one that was refused."""
    return _add(_after, callback)


def after_restart(callback: Callback) -> Callback:
    """Runs CALLBACK in the restarted program."""
    return _add(_restarted, callback)


def _run(callbacks: list[Callback]) -> bool:
    whole = True
    for one in callbacks:
        try:
            one()
        except Exception:  # noqa: BLE001 - whatever the program raises
            traceback.print_exc()
            whole = False
    return whole


def _after_restart() -> bool:
    global _seen
    if generation() == _seen:
        return False
    _seen = generation()
    _run(_restarted)
    return True


def safe_point() -> bool:
    """A place where callbacks may run and a checkpoint may be taken.

    A program with callbacks has checkpoints nowhere else; its ranks must all come to such places,
    equally often.  True: a checkpoint was taken, or asked for.
    """
    global _running
    if _running or not (_before or _after or _restarted):
        return False
    _running = True
    taken = False
    try:
        _after_restart()
        if _hooks(_POINT) == 1:
            if _run(_before[::-1]):
                taken = _hooks(_TAKE) == 0
            else:
                _hooks(_FAILED)
            if not _after_restart():
                _run(_after)
    finally:
        _running = False
    return taken


def checkpoint() -> bool:
    """Asks for a checkpoint of all ranks; a safe point.  False: not under rdb."""
    if _prctl(_CHECKPOINT, *map(ctypes.c_ulong, (0, 0, 0, 0))):
        return False
    safe_point()
    return True


def data(name: str) -> str | None:
    """The variable RDB_DATA_<name> of the newest `rdb run` or `rdb restart`; None: none."""
    room = ctypes.create_string_buffer(_ROOM)
    length = _hooks(_DATA, ctypes.c_char_p(name.encode()), room, _ROOM)
    return room.raw[: min(length, _ROOM - 1)].decode(errors="replace") if length >= 0 else None
