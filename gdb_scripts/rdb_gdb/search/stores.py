"""The last change of some bytes, and the last store, also of the value that is there already."""

from __future__ import annotations

from typing import Any

import gdb

from .. import link
from ..state import place
from ..values import symbols
from . import instructions

_READS_MAX = 64  # that are passed on the way back
_LENGTH_MAX = 32  # bytes that the processor watches


def last_change(address: int, length: int) -> dict[str, Any]:
    """Goes to just before the last change; the server's answer."""
    answer = link.ask("last-change", f"{address:#x},{length}")
    if answer["found"]:
        place.forget(answer)
    return answer


def last(address: int, length: int) -> dict[str, Any]:
    """As `last_change`, for the last store; "unsure": a store of an equal value may be later."""
    if length > _LENGTH_MAX:
        return {**last_change(address, length), "unsure": True}
    start, now = link.ask("state")["stop_point"], _bytes(address, length)
    for _ in range(_READS_MAX):
        answer = link.ask("last-change", f"{address:#x},{length},access")
        if not answer["found"]:
            place.seek(f"@{start}")
            return answer
        place.forget(answer)
        with symbols.speaking("c"):
            stored = instructions.here().stores_into(address, length)
        if stored or "by" in answer or _bytes(address, length) != now:
            return answer
    answer = last_change(address, length)
    if not answer["found"]:
        place.seek(f"@{start}")
    return {**answer, "unsure": True}


def _bytes(address: int, length: int) -> bytes | None:
    try:
        return bytes(gdb.selected_inferior().read_memory(address, length))
    except gdb.MemoryError:
        return None
