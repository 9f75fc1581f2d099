"""Threads as GDB sees them: which there are, which one a packet is about.

GDB knows a thread by its number, which it has in every replay; the recorded thread id is in the
text that `info threads` shows.  GDB numbers threads itself as they come and would give one that
comes again a new number, and delete breakpoints of a thread that is gone.  So all threads of the
recording are always there: some have not started yet, some have ended.
"""

from __future__ import annotations

from html import escape  # xml.sax.saxutils costs a tenth of the time that opening takes

from rdb.replay.agent import Thread, ThreadState
from rdb.server.target import Debuggee, RankRecordingLike

_ANY = (b"0", b"-1")
_LISTED_MAX = 256  # of more threads only those that are there


class Threads:
    def __init__(self, timeline: Debuggee, recording: RankRecordingLike, name: str) -> None:
        self._timeline = timeline
        self._recording = recording
        self._name = name
        self._general = 0  # `Hg`: whose registers are asked for; 0: of the one that runs next
        self._continue = 0  # `Hc`: who is to be stepped; 0: the one that GDB looked at last
        self._looked_at = 0

    @property
    def selected(self) -> int:
        return self._general or self._timeline.thread

    @property
    def stepped(self) -> int:
        """Whom `bs`, which names nobody, means where others may run as well (`Hc0`): the thread
        that GDB selected last or, its registers being known already, asked whether it is alive."""
        return self._continue or self._looked_at or self.selected

    def stopped(self, thread: int) -> None:
        """A stop reply named this one: GDB takes it for selected."""
        self._general = self._looked_at = thread

    def alive(self, body: bytes) -> bool:
        """The body of a `T` packet."""
        thread = parse_thread(body)
        there = self.exists(thread)
        if there:
            self._looked_at = thread
        return there

    def select(self, body: bytes) -> bool:
        """The body of an `H` packet."""
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
        """Name and text of each, by number."""
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
        """For `qThreadExtraInfo`."""
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
    """`2`, or `p1.2` with a process in front."""
    return int(text.rpartition(b".")[2], 16)
