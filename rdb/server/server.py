"""The loop of one session: packets in, replies out, moves on a thread so that Ctrl-C is heard."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.recording import RankRecording
from rdb.server.breakpoints import Breakpoints
from rdb.server.files import Files
from rdb.server.forking import Forking
from rdb.server.jobs import Worker
from rdb.server.motion import Motion, Move
from rdb.server.objects import Objects, correct_auxv
from rdb.server.packets import REQUEST_MAX, Connection
from rdb.server.queries import Queries, encode, failure
from rdb.server.stub import Stub, told
from rdb.server.target import Debuggee, RankRecordingLike, StoppedLike
from rdb.server.threads import Threads
from rdb.server.turning import Turning
from rdb.timeline.timeline import Timeline

# While GDB looks at a stop and goes on by itself (a condition that is false), Ctrl-C reaches us
# between two moves: it is for the next one.  One that is older was for the move that is over.
_EARLY_S = 0.1
_THINKING_S = 0.1  # GDB asks what it wants to know of a stop without pauses


@dataclass(frozen=True)
class Failed:
    """A move that was not made; the rank stands where it stood."""

    reason: str = "diverged"
    id: int = 0
    addr: int = 0
    signal: int = 0
    text: str = ""
    by_event: bool = False
    thread: int = 0


@dataclass(frozen=True)
class Left:
    """How a client left."""

    for_good: bool


def _too_long(begins: bytes) -> bytes:
    """What a request is answered that is longer than REQUEST_MAX."""
    text = f"a request of more than {REQUEST_MAX >> 20} MiB"
    return encode(failure(RdbError(text))) if begins.startswith(b"qRdb.") else b"E." + text.encode()


class Server:
    def __init__(
        self,
        timeline: Debuggee,
        recording: RankRecordingLike,
        connection: Connection,
        turning: Turning | None = None,
        forking: Forking | None = None,
        original: Server | None = None,
    ) -> None:
        self._connection = connection
        self._turning = turning
        self._forking = forking
        self._turned = False  # away from the rank that was opened
        self._pressed_at = -math.inf
        self._prepared = -1  # the stop for which that has been done
        self._worker = Worker()
        self._files: Files = Files(recording) if original is None else original._files
        self._stub: Stub = self._stand_in(timeline, recording)
        if original is not None:  # whose connection this is to be to the copy of its GDB
            self._stub.after(original._stub)
            self._connection.acks = original._stub.acks

    def _stand_in(self, timeline: Debuggee, recording: RankRecordingLike) -> Stub:
        """All that knows of one rank."""
        self._timeline = timeline
        self._points = Breakpoints(timeline)
        self._points.say = self._say
        name = os.path.basename(str(recording.meta.get("exe", "")))
        threads = Threads(timeline, recording, name)
        self._motion = Motion(timeline, self._points, threads)
        self._queries = Queries(self._motion, recording, self._worker)
        self._files.recording = recording
        objects = make_objects(timeline, recording, threads)
        return Stub(timeline, self._motion, self._points, objects, self._files, threads)

    def _turn(self, body: bytes) -> bytes:
        """NAME or NAME,fresh: GDB looks at that rank from now on."""
        assert self._turning is not None
        name, _, how = body.decode("utf-8", "replace").partition(",")
        self._queries.settle()
        try:
            timeline, recording = self._turning.to(name, how == "fresh")
            if self._timeline is not timeline:
                self._motion.marks.close()
                self._stub = self._stand_in(timeline, recording).after(self._stub)
        except RdbError as error:
            return encode(failure(error))
        self._turned = True
        return self._queries.handle(b"state")

    def _fork(self, body: bytes) -> bytes:
        """RANK,PATH: a copy of this server for that rank, which connects to the socket."""
        assert self._forking is not None
        name, _, path = body.decode("utf-8", "replace").partition(",")
        self._queries.settle()

        def serve(timeline: Timeline, recording: RankRecording, fd: int) -> None:
            Server(timeline, recording, Connection(fd, fd), original=self).run()

        try:
            return encode({"pid": self._forking.fork(name, path, self._files.fds, serve)})
        except RdbError as error:
            return encode(failure(error))

    def run(self) -> Left:
        """Serves until the other side detaches, kills or goes away."""
        try:
            while not self._stub.finished:
                self._prepare()
                packet = self._connection.receive()
                if packet is None:
                    break
                if packet.interrupt:
                    self._pressed_at = time.monotonic()
                elif packet.too_long:
                    self._connection.send(_too_long(packet.data))
                else:
                    self._answer(packet.data)
        finally:
            self._motion.interrupt()
            self._queries.stop()
            self._worker.close()
            self._motion.marks.close()
            self._files.close()
        self._leave()
        return Left(self._stub.leaving)

    def _leave(self) -> None:
        """What this client set and changed is not the next one's."""
        self._points.clear()
        self._points.arm()
        if self._stub.killed:
            self._timeline.goto_start()
        else:  # also where nothing was changed: an interrupt may be left that nobody heard
            self._timeline.seek(self._timeline.position)

    def _prepare(self) -> None:
        """While the user thinks: what the next command may need, until anything is asked for."""
        serial = self._motion.marks.serial
        if (
            self._turned  # who looks at many ranks goes back in none of them
            or serial == self._prepared
            or self._queries.busy
            or not self._connection.quiet(_THINKING_S)
        ):
            return
        self._prepared = serial
        job = self._worker.start(self._timeline.prepare)
        self._worker.wait(job, self._connection.read_fd, self._disturbed)
        job.result()
        self._timeline.begin()

    def _disturbed(self) -> bool:
        self._timeline.interrupt()
        return False

    def _answer(self, data: bytes) -> None:
        if self._turning is not None and data.startswith(b"qRdb.rank:"):
            self._connection.send(self._turn(data[10:]))
            return
        if self._forking is not None and data.startswith(b"qRdb.fork:"):
            self._connection.send(self._fork(data[10:]))
            return
        if data.startswith(b"qRdb."):
            self._connection.send(self._queries.handle(data[5:]))
            return
        self._queries.settle()
        move = self._stub.resume(data)
        if move is not None:
            self._move(move, answered=not data.startswith(b"R"))
            return
        reply = self._stub.handle(data)
        if not data.startswith(b"k"):  # the one request without a reply
            self._connection.send(reply)
        if not self._stub.acks:
            self._connection.acks = False

    def _move(self, move: Move, answered: bool = True) -> None:
        if time.monotonic() - self._pressed_at < _EARLY_S:
            self._pressed_at = -math.inf
            self._tell(Failed("interrupt"), answered)
            return
        job = self._worker.start(move)
        self._worker.wait(job, self._connection.read_fd, self._heard)
        if self._connection.closed:
            return
        try:
            stopped: StoppedLike = job.result()
        except RdbError as error:
            stopped = Failed(text=error.line())
        if stopped.reason == "interrupt":
            self._pressed_at = -math.inf
        if stopped.reason == "diverged":
            self._say(f"{stopped.text}\n")
        elif stopped.reason == "end" and stopped.text:
            self._say(f"rdb: end of the recording: {stopped.text}\n")
        elif stopped.reason == "start":
            self._say(f"rdb: start of the recording{stopped.text and f': {stopped.text}'}\n")
        elif stopped.text:
            self._say(f"rdb: {stopped.text}\n")
        self._tell(stopped, answered)

    def _tell(self, stopped: StoppedLike, answered: bool) -> None:
        """The stop reply, or why there is none: GDB waits for one or the other."""
        try:
            reply = self._stub.stopped(stopped)
        except RdbError as error:
            reply = told(error)  # GDB warns of it, takes it for a stop, and asks again
        if answered:
            self._connection.send(reply)

    def _heard(self) -> bool:
        """Input while the rank moves: an interrupt, or the end of the session."""
        self._connection.fill()
        if self._connection.closed:
            self._motion.interrupt()
            return False
        packet = self._connection.poll()
        while packet is not None:
            if packet.interrupt:
                self._pressed_at = time.monotonic()  # the move may be over before it hears
                self._motion.interrupt()
            packet = self._connection.poll()
        return True

    def _say(self, text: str) -> None:
        """Console output of the target; allowed only while it runs (`O`, GDB manual E.3)."""
        self._connection.send(b"O" + text.encode("utf-8").hex().encode("ascii"))


def make_objects(timeline: Debuggee, recording: RankRecordingLike, threads: Threads) -> Objects:
    hello = timeline.hello
    auxv = timeline.read_memory(hello.auxv_addr, hello.auxv_len)
    return Objects(
        exec_file=str(recording.meta.get("exe", "")),
        auxv=correct_auxv(auxv, hello.entry),
        threads=threads.xml,
    )


def serve(
    timeline: Debuggee,
    recording: RankRecordingLike,
    read_fd: int,
    write_fd: int | None = None,
    turning: Turning | None = None,
    forking: Forking | None = None,
) -> Left:
    """Serves one GDB over descriptors (a socket: one for both ways)."""
    connection = Connection(read_fd, read_fd if write_fd is None else write_fd)
    return Server(timeline, recording, connection, turning, forking).run()
