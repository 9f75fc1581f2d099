"""The result of one probe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"  # works, but less well
    MISSING = "missing"  # something does not work


@dataclass(frozen=True)
class Finding:
    """`essential`: rdb is useless without this."""

    group: str
    what: str
    state: State
    detail: str  # what was found
    meaning: str  # its purpose, or the consequence of its state
    remedy: str = ""
    essential: bool = False
