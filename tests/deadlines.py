"""Conditions that come true within a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 90


def wait_for(what: str, true: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < until, f"{what}: not within {DEADLINE_S} s"
        time.sleep(0.02)
