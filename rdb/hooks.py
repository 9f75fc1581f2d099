"""What a Python program may ask of rdb: the same as interposer/include/rdb.h.

Does nothing when the program does not run under rdb.
"""

from __future__ import annotations

import ctypes
import math
import traceback
from collections.abc import Callable
from typing import NamedTuple

_CHECKPOINT, _HOOKS = 0x72646263, 0x72646268
_USED, _POINT, _TAKE, _FAILED, _GENERATION, _, _, _DATA, _, _DISTRIBUTE, _REDISTRIBUTE = range(11)
_ROOM = 4096

Callback = Callable[[], object]

_before: list[Callback] = []
_after: list[Callback] = []
_restarted: list[Callback] = []
_prctl = ctypes.CDLL(None).prctl
_used = False
_seen = 0
_running = False
_distributed: dict[tuple[str, int], object] = {}  # keeps their memory


class Rows(NamedTuple):
    """Rows of an array that one rank has, in the order of its memory.

    `number` rows from row `first` on, `block` of them behind each other; each next block begins
    `step` rows after the one before.
    """

    first: int
    number: int
    block: int
    step: int


class _Part(ctypes.Structure):
    """struct rdb_part"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("row", ctypes.c_size_t),
        ("rows", ctypes.c_long * 4),
    )


def _hooks(what: int, *more: object) -> int:
    words = [*more, *(0,) * (3 - len(more))]
    return int(_prctl(_HOOKS, ctypes.c_ulong(what), *map(_word, words)))


def _word(value: object) -> object:
    return ctypes.c_ulong(value) if isinstance(value, int) else value


def generation() -> int:
    """The number of times that the program has been restarted; 0: never."""
    return max(0, _hooks(_GENERATION))


def _use() -> bool:
    """Checkpoints only at safe points from now on.  False: not under rdb."""
    global _seen, _used
    if not _used:
        _seen = generation()
    _used = True
    return not _hooks(_USED)


def _add(where: list[Callback], callback: Callback) -> Callback:
    _use()
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
    if _running or not _used:
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


def block(total: int, rank: int, ranks: int) -> Rows:
    """Of TOTAL rows, those of RANK: about as many for each of RANKS ranks, in their order."""
    least, more = divmod(total, ranks)
    number = least + (rank < more)
    return Rows(least * rank + min(rank, more), number, number, number)


def cyclic(total: int, block: int, rank: int, ranks: int) -> Rows:
    """Of TOTAL rows, those of RANK when the ranks take BLOCK rows in turn."""
    step, first = block * ranks, block * rank
    rest = min(max(total % step - first, 0), block)
    return Rows(first, total // step * block + rest, block, step)


def distribute(name: str, array: object, rows: Rows) -> bool:
    """Has each checkpoint note ROWS of the array NAME, for an `rdb restart -n` with other ranks.

    That starts the program anew, and redistribute() gives it the rows. ARRAY: a contiguous,
    writable buffer (of numpy, for example) whose first dimension are ROWS; it must keep its memory.
    A call without rows says that this rank has none any more. Checkpoints are taken only at safe
    points from then on. False: not under rdb, or there are 64 such parts, or NAME is not up to 31
    letters, digits and underscores.
    """
    part, memory = _part(name, array, rows)
    if _hooks(_DISTRIBUTE, ctypes.byref(part)):
        return False
    if not rows.number:
        for known in [one for one in _distributed if one[0] == name]:
            del _distributed[known]
    else:
        _distributed[name, rows.first] = memory
    return _use()


def redistribute(name: str, array: object, rows: Rows) -> bool:
    """Fills ARRAY with these rows as they were at the checkpoint, whichever ranks had them.

    False: the program was not started by `rdb restart -n`, or there are no such rows, or they have
    another size.
    """
    part, _memory = _part(name, array, rows)
    return not _hooks(_REDISTRIBUTE, ctypes.byref(part))


def _part(name: str, array: object, rows: Rows) -> tuple[_Part, object]:
    view = memoryview(array)  # type: ignore[arg-type]
    row = view.itemsize * math.prod((view.shape or (1,))[1:])
    if row * rows.number != view.nbytes:
        raise ValueError(f"{name}: {rows.number} rows of {row} bytes are not {view.nbytes} bytes")
    memory = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B")) if view.nbytes else None
    address = ctypes.addressof(memory) if memory else 0
    return _Part(name.encode(), address, row, (ctypes.c_long * 4)(*rows)), memory
