"""Threads as GDB sees them: the list, and the thread that a packet means.

GDB gets our thread number, which is the same in every replay; `info threads` shows the recorded
thread id as text.  GDB itself numbers threads as they appear: it would give a thread that appears
again a new number, and delete the breakpoints of a thread that disappears.  So all threads of the
recording are always listed: some have not started yet, some have ended.
"""

from __future__ import annotations

from html import escape  # xml.sax.saxutils costs a tenth of the time that opening takes

from rdb.recording import RankRecording
from rdb.replay.agent import Thread, ThreadState
from rdb.timeline.timeline import Timeline

_ANY = (b"0", b"-1")
_LISTED_MAX = 256  # if there are more, only living threads are listed


class Threads:
    def __init__(self, timeline: Timeline, recording: RankRecording, name: str) -> None:
        self._timeline = timeline
        self._recording = recording
        self._name = name
        self._general = 0  # `Hg`: thread of register packets; 0: the one that runs next
        self._continue = 0  # `Hc`: thread to step; 0: the one that GDB selected last
        self._looked_at = 0

    @property
    def selected(self) -> int:
        return self._general or self._timeline.thread

    @property
    def stepped(self) -> int:
        """The thread that `bs` steps.

        `bs` names no thread.  After `Hc0` it is the thread that GDB selected last or, if GDB has
        its registers already, asked about with `T`.
        """
        return self._continue or self._looked_at or self.selected

    def stopped(self, thread: int) -> None:
        """A stop reply named this thread, so GDB treats it as selected."""
        self._general = self._looked_at = thread

    def alive(self, body: bytes) -> bool:
        """Handles a `T` packet."""
        thread = parse_thread(body)
        there = self.exists(thread)
        if there:
            self._looked_at = thread
        return there

    def select(self, body: bytes) -> bool:
        """Handles an `H` packet; False: there is no such thread."""
        thread = 0 if body[1:] in _ANY else parse_thread(body[1:])
        if thread and not self.exists(thread):
            return False
        if body[:1] == b"c":
            self._continue = thread
        else:
            self._general = self._looked_at = thread
        return True

    def exists(self, thread: int) -> bool:
        return thread in self._all()

    def ids(self) -> bytes:
        return b",".join(b"%x" % number for number in self._all())

    def _all(self) -> dict[int, tuple[str, str]]:
        """Number -> (name, text) of each thread."""
        recorded = self._recording.threads
        there = self._timeline.threads()
        found = {one.number: (one.name or self._name, self._about(one)) for one in there}
        if len(recorded) <= _LISTED_MAX:
            for one in recorded:
                early = self._timeline.event < one.first_event
                about = f"LWP {one.tid}, {'not started yet' if early else 'ended'}"
                found.setdefault(one.number, (self._name, about))
        return dict(sorted(found.items()))

    def xml(self) -> bytes:
        """The `qXfer:threads` object."""
        threads = self._all()
        rows = [
            f'<thread id="{number:x}" core="0" name="{escape(name)}">'
            f"{escape(about) if len(threads) > 1 else ''}</thread>"
            for number, (name, about) in threads.items()
        ]
        return f'<?xml version="1.0"?><threads>{"".join(rows)}</threads>'.encode()

    def about(self, thread: int) -> str:
        """The text for `qThreadExtraInfo`."""
        return ", ".join(self._all()[thread])

    def _about(self, thread: Thread) -> str:
        if thread.state is ThreadState.RUNNING:
            event = self._timeline.event
            ended = any(
                one.number == thread.number and one.last_event == event
                for one in self._recording.threads
            )
            idle = self._recording.schedule.idle(event)
            return f"LWP {thread.tid}" + (", ended" if ended else "" if idle else ", runs next")
        if thread.state is ThreadState.PREEMPTED:
            return f"LWP {thread.tid}"
        call = self._recording.answered_next(thread.number, self._timeline.event)
        return f"LWP {thread.tid}, waits in {call}" if call else f"LWP {thread.tid}, waits"


def parse_thread(text: bytes) -> int:
    """The number of a thread id, `2` or `p1.2` (process 1)."""
    return int(text.rpartition(b".")[2], 16)
