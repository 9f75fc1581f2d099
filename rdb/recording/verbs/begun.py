"""What a branch began with in verbs: beside its log, which does not say how that came to be.

`verbs-begun` is written when the restart is planned (rdb/live/verbs/begun.py), and copied by the
rank at its cut, which adds the name of the device that it is on now (verbs/lower/restart_saved.c).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording

_PARTS = {"seen", "pairs", "shared", "queues", "async", "limits"}
BEGUN, DEVICE = "verbs-begun", "verbs-device"


def begun_with(path: Path) -> dict[str, Any] | None:
    """PATH: the recording's; None: it did not begin in verbs."""
    try:
        text = (path / BEGUN).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise DamagedRecording(f"{path / BEGUN}: expected JSON") from error
    if not isinstance(value, dict) or not value.keys() >= _PARTS:
        raise DamagedRecording(f"{path / BEGUN}: expected what a branch began with")
    return value


def begun_on(path: Path) -> str | None:
    """The device that it had then."""
    try:
        return (path / DEVICE).read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
