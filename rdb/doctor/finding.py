"""One thing that was looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"  # works, with less
    MISSING = "missing"  # something does not work


@dataclass(frozen=True)
class Finding:
    """`essential`: rdb is of no use where it is missing."""

    group: str
    what: str
    state: State
    detail: str  # what was found
    meaning: str  # what it is for, or what its state means
    remedy: str = ""
    essential: bool = False
