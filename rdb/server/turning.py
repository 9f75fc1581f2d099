"""The ranks of one connection: one GDB that looks at many ranks in turn.

To GDB it looks as if its one process had moved, so GDB reads the symbols once for all ranks of a
program.  A rank keeps its position as long as it stays open, and only the latest do.
"""

from __future__ import annotations

from rdb.errors import RdbError
from rdb.recording import RankRecording, open_job
from rdb.timeline.timeline import Timeline

_MOST = 32  # ranks that stay open; each has some ten descriptors, and the usual limit is 1024


class Turning:
    """The timelines of the ranks by name.  The caller closes that of the first rank."""

    def __init__(self, job: str, timeline: Timeline, recording: RankRecording) -> None:
        self._job = job
        self._program = program_of(recording)
        self._first = recording.name
        self._known: dict[str, tuple[Timeline, RankRecording]] = {
            recording.name: (timeline, recording)
        }

    def to(self, name: str, fresh: bool = False) -> tuple[Timeline, RankRecording]:
        """The rank NAME, opened if it is new; FRESH: takes in what has been recorded since.

        Raises RdbError if it runs another program.
        """
        known = self._known.pop(name, None)
        if known is not None:
            self._known[name] = known  # the latest
            if fresh:
                known[0].renew()
            return known
        recording = open_job(self._job).rank(name)
        recording.check()
        if program_of(recording) != self._program:
            raise RdbError(f"{name} runs another program than {self._first}")
        timeline = Timeline(recording)
        self._known[name] = timeline, recording
        if len(self._known) > _MOST:
            self._known.pop(next(one for one in self._known if one != self._first))[0].close()
        return timeline, recording

    def close(self) -> None:
        """Closes all timelines except that of the first rank."""
        for name, (timeline, _) in self._known.items():
            if name != self._first:
                timeline.close()


def program_of(recording: RankRecording) -> tuple[str, str | None]:
    """Path and stored key of the program: ranks with an equal result share symbols."""
    path = str(recording.meta.get("exe", ""))
    return path, recording.files.get(path)
