"""Recordings without the contents of messages: which ranks have one, and which can be replayed.

With `--record=order` a log holds only a hash of each message.  The file `payload` beside a log has
the bytes; it exists after all ranks together have made the messages again (rdb/live/expand).

With `--record=lean` that is so for large messages, but each can be made from its sender's recording
when a replica needs it.
"""

from __future__ import annotations

from rdb.recording.rank import RankRecording
from rdb.recording.store import Job

PAYLOAD = "payload"


def order_only(recording: RankRecording) -> bool:
    return recording.meta.get("record") == "order"


def expanded(recording: RankRecording) -> bool:
    """Does the recording have its payloads?"""
    return (recording.path / PAYLOAD).exists()


def order_ranks(job: Job) -> list[RankRecording]:
    """Ranks recorded with `--record=order`."""
    return [one for one in job.all_ranks() if order_only(one.glance())]


def unexpanded(job: Job) -> list[RankRecording]:
    return [one for one in order_ranks(job) if not expanded(one)]


def lean_ranks(job: Job) -> list[RankRecording]:
    """Ranks recorded with `--record=lean`."""
    return [one for one in job.all_ranks() if one.glance().lean]


def unregenerated(job: Job) -> list[RankRecording]:
    """Those of them whose large messages have not all been made again."""
    return [one for one in lean_ranks(job) if not expanded(one)]
