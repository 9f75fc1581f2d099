"""Recordings of the order alone (`--record=order`): which they are, and which can be replayed.

Their logs name what came in messages by its hash; `payload` beside a log has the bytes, once all
ranks together have made them again (rdb/live/expand/together.py).
"""

from __future__ import annotations

from rdb.recording.rank import RankRecording
from rdb.recording.store import Job

PAYLOAD = "payload"


def order_only(recording: RankRecording) -> bool:
    return recording.meta.get("record") == "order"


def expanded(recording: RankRecording) -> bool:
    """Are its payloads there?"""
    return (recording.path / PAYLOAD).exists()


def order_ranks(job: Job) -> list[RankRecording]:
    """Ranks of which the order alone was recorded."""
    return [one for one in job.all_ranks() if order_only(one)]


def unexpanded(job: Job) -> list[RankRecording]:
    return [one for one in order_ranks(job) if not expanded(one)]
