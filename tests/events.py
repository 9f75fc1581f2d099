"""Events of a recording, by what was called."""

from __future__ import annotations

from rdb.recording import RankRecording


def events_called(recording: RankRecording, *calls: str) -> list[int]:
    """Those whose description begins so, such as `getppid` or `MPI_Barrier`."""
    every = range(1, recording.last_event + 1)
    return [event for event in every if recording.describe(event).startswith(calls)]
