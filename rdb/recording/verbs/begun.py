"""The verbs objects with which a branch began: a file beside its log, which does not have them.

The plan of a restart writes `verbs-begun` (rdb/live/verbs/begun.py).  The rank copies it at its
cut, and adds the name of its new device (verbs/lower/restart_saved.c).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording

_PARTS = {"seen", "pairs", "shared", "queues", "async", "limits"}
BEGUN, DEVICE = "verbs-begun", "verbs-device"


def begun_with(path: Path) -> dict[str, Any] | None:
    """The contents of `verbs-begun`; None: the recording is no branch that began with verbs.

    PATH: the recording's directory.  Raises DamagedRecording.
    """
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
    """Name of the device at the beginning of a branch; None: not known."""
    try:
        return (path / DEVICE).read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
