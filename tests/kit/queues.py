"""POSIX message queues need a limit that lets one be made."""

from __future__ import annotations

import resource

import pytest

_BYTES = 1 << 18  # more than a queue of the default size takes


def need_queues() -> None:
    """Skips the test where RLIMIT_MSGQUEUE is too low (mq_overview(7))."""
    limit = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]
    if limit != resource.RLIM_INFINITY and limit < _BYTES:
        pytest.skip(f"RLIMIT_MSGQUEUE is {limit}: no message queue can be made")
