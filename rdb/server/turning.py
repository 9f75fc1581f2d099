"""The ranks that one connection can turn to: a GDB that looks at many ranks, one after the other.

To GDB it is as if the one process had been moved elsewhere, so it reads symbols once for all ranks
of a program.  Each rank stays where it was left.
"""

from __future__ import annotations

from rdb.errors import RdbError
from rdb.recording import RankRecording, open_job
from rdb.timeline.timeline import Timeline


class Turning:
    """Made with the rank that was opened first, whose timeline its maker closes."""

    def __init__(self, job: str, timeline: Timeline, recording: RankRecording) -> None:
        self._job = job
        self._program = program_of(recording)
        self._first = recording.name
        self._known: dict[str, tuple[Timeline, RankRecording]] = {
            recording.name: (timeline, recording)
        }

    def to(self, name: str, fresh: bool = False) -> tuple[Timeline, RankRecording]:
        """The rank NAME, started if it is new; FRESH: with what has been recorded since then."""
        known = self._known.get(name)
        if known is not None:
            if fresh:
                known[0].renew()
            return known
        recording = open_job(self._job).rank(name)
        recording.check()
        if program_of(recording) != self._program:
            raise RdbError(f"{name} runs another program than {self._first}")
        timeline = Timeline(recording)
        self._known[name] = timeline, recording
        return timeline, recording

    def close(self) -> None:
        """Ends all but the first."""
        for name, (timeline, _) in self._known.items():
            if name != self._first:
                timeline.close()


def program_of(recording: RankRecording) -> tuple[str, str | None]:
    """What GDB reads symbols of."""
    path = str(recording.meta.get("exe", ""))
    return path, recording.files.get(path)
