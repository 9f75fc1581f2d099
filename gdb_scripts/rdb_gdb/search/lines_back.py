"""What the server needs to step back through a line by itself.

GDB steps back by lines one instruction at a time, and there is no packet for a range.  But in the
midst of a line it always asks for one more step.  So before `reverse-step` and `reverse-next` we
tell the server where lines begin in the function; until the next stop it steps through the rest of
a line as for one request.
"""

from __future__ import annotations

from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..values.blocks import function_block

_HOOKS = """define hook-{}
python import rdb_gdb.search.lines_back; rdb_gdb.search.lines_back.going()
end"""
_FUNCTION_MAX = 1 << 16  # bytes

_known: dict[tuple[int, int, str], str] = {}  # functions by place and name
_told = False


def going() -> None:
    """The hook: tells the server about the function of the innermost frame."""
    global _told
    try:
        block = _outermost(function_block(gdb.newest_frame().block()))
    except (gdb.error, RuntimeError):
        return  # no frame, or no debugging information
    if block is None or block.end - block.start > _FUNCTION_MAX or not link.opened():
        return
    key = (int(block.start), int(block.end), str(block.function))
    if key not in _known:
        _known[key] = ";".join(f"{start:x},{end:x}" for start, end in _lines(block))
    link.ask("lines", _known[key])
    _told = True


def _outermost(block: Any) -> Any:
    """The function that was not inlined."""
    while block is not None and block.superblock is not None and not block.superblock.is_static:
        block = block.superblock
    return block


def _lines(block: Any) -> list[tuple[int, int]]:
    """Code from the beginning of one line, as GDB's steps take it, to that of the next, or to
    where an inlined function begins or ends."""
    found = []
    pc, end = int(block.start), int(block.end)
    while pc < end:
        sal = gdb.find_pc_line(pc)
        last = min(int(sal.last), end - 1) if sal.symtab is not None and sal.last else pc
        start, inside = pc, _inlined(pc)
        for at in range(pc + 1, last + 1):
            other = _inlined(at)
            if other != inside:
                found.append((start, at))
                start, inside = at, other
        found.append((start, last + 1))
        pc = last + 1
    return found


def _inlined(pc: int) -> tuple[int, int] | None:
    block = function_block(gdb.block_for_pc(pc))
    return None if block is None else (int(block.start), int(block.end))


def _stopped(event: Any) -> None:
    global _told
    if _told:
        _told = False
        if link.connected():
            link.ask("lines")


def forget() -> None:
    """Another recording was opened."""
    _known.clear()


@at_load
def define() -> None:
    gdb.events.stop.connect(_stopped)
    for name in ("reverse-step", "reverse-next"):
        gdb.execute(_HOOKS.format(name), to_string=True)
