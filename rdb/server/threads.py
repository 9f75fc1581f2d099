"""Threads as GDB sees them: which there are, which one a packet is about.

GDB knows a thread by its number, which it has in every replay; the recorded thread id is in the
text that `info threads` shows.
"""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from rdb.replay.agent import Thread, ThreadState
from rdb.server.target import Debuggee, RankRecordingLike

_ANY = (b"0", b"-1")


class Threads:
    def __init__(self, timeline: Debuggee, recording: RankRecordingLike, name: str) -> None:
        self._timeline = timeline
        self._recording = recording
        self._name = name
        self._general = 0  # `Hg`: whose registers are asked for; 0: of the one that runs next
        self._continue = 0  # `Hc`: who is to be stepped; 0: whoever is selected

    @property
    def selected(self) -> int:
        return self._general or self._timeline.thread

    @property
    def stepped(self) -> int:
        """Whom `bs`, which names nobody, means: GDB asks for all (`Hc0`) when others may run."""
        return self._continue or self.selected

    def stopped(self, thread: int) -> None:
        """A stop reply named this one: GDB takes it for selected."""
        self._general = thread

    def select(self, body: bytes) -> bool:
        """The body of an `H` packet."""
        thread = 0 if body[1:] in _ANY else parse_thread(body[1:])
        if thread and not self.exists(thread):
            return False
        if body[:1] == b"c":
            self._continue = thread
        else:
            self._general = thread
        return True

    def exists(self, thread: int) -> bool:
        return thread in [one.number for one in self._timeline.threads()]

    def ids(self) -> bytes:
        return b",".join(b"%x" % one.number for one in self._timeline.threads())

    def xml(self) -> bytes:
        """The `qXfer:threads` object."""
        threads = self._timeline.threads()
        rows = [
            f'<thread id="{one.number:x}" core="0" name={quoteattr(one.name or self._name)}>'
            f"{escape(self._about(one)) if len(threads) > 1 else ''}</thread>"
            for one in threads
        ]
        return f'<?xml version="1.0"?><threads>{"".join(rows)}</threads>'.encode()

    def about(self, thread: int) -> str:
        """For `qThreadExtraInfo`."""
        one = next(one for one in self._timeline.threads() if one.number == thread)
        return f"{one.name or self._name}, {self._about(one)}"

    def _about(self, thread: Thread) -> str:
        if thread.state is ThreadState.RUNNING:
            return f"LWP {thread.tid}, runs next"
        if thread.state is ThreadState.PREEMPTED:
            return f"LWP {thread.tid}"
        call = self._recording.answered_next(thread.number, self._timeline.event)
        return f"LWP {thread.tid}, waits in {call}" if call else f"LWP {thread.tid}, waits"


def parse_thread(text: bytes) -> int:
    """`2`, or `p1.2` with a process in front."""
    return int(text.rpartition(b".")[2], 16)
