"""Which requests of a queue pair a completion completes."""

from __future__ import annotations

from collections.abc import Iterator

from rdb.live.verbs.queues import Life, Send
from rdb.recording.log.verbs_calls import WorkRequest

_SIGNALED = 2


class Sends(list[Send]):
    """A million are not walked over for each completion."""

    def __iter__(self) -> Iterator[Send]:
        raise AssertionError("from the beginning")


def test_completions_in_order() -> None:
    life = Life(0)
    life.sends = Sends(
        Send(1, number, WorkRequest(number // 2, 0, 0, 0, _SIGNALED), number, number)
        for number in range(6)
    )
    for event in range(10, 16):
        life.complete(event // 2 - 5, event)
    assert [life.sends[number].completed for number in range(6)] == list(range(10, 16))
