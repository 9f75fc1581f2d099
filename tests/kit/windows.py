"""Searches and motions that do soon what they do only in long recordings otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from rdb.timeline import ahead, before, scan, travel
from rdb.timeline.travel import Travel


@contextmanager
def short_windows() -> Iterator[None]:
    """Approaching in rounds, snapshots within intervals."""
    limits = {
        travel: {"LEG_EVENTS": 1, "_LEG_STEPS": 2},
        ahead: {"LEG_EVENTS": 1},
        scan: {"_WORK": 6, "_NEAR": 2},
        before: {
            **{"TRACE": 2, "TRACED": 3, "WINDOW": 4},
            **{"_ARRIVALS": 2, "_FORKS": 0, "_WINDOW_MAX": 8},
        },
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Travel, "keep_if_worth", Travel.keep))
        for module, values in limits.items():
            stack.enter_context(mock.patch.multiple(module, **values))
        yield
