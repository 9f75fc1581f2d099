"""The loop of one connection: reads packets, sends replies, runs moves on a thread so that Ctrl-C
can be read meanwhile."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from typing import NamedTuple

from rdb.errors import RdbError, system_errors
from rdb.recording import RankRecording
from rdb.server.breakpoints import Breakpoints
from rdb.server.files import Files
from rdb.server.forking import Forking
from rdb.server.jobs import Worker
from rdb.server.motion import Motion, Move
from rdb.server.objects import Objects, correct_auxv
from rdb.server.packets import REQUEST_MAX, Connection
from rdb.server.queries import Queries, encode, failure
from rdb.server.siginfo import siginfo
from rdb.server.stub import Stub, told
from rdb.server.threads import Threads
from rdb.server.turning import Turning
from rdb.timeline.points import Points
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

# If GDB continues by itself after a stop (a false condition), Ctrl-C may reach us between two
# moves: it ends the next one.  An older one was for the move that is over.
_EARLY_S = 0.1
_THINKING_S = 0.1  # after a stop GDB asks its questions without longer pauses


class Left(NamedTuple):
    """How a client left; `for_good`: no further client is served."""

    for_good: bool


def _too_long(begins: bytes) -> bytes:
    """The reply to a request longer than REQUEST_MAX."""
    text = f"the request is longer than {REQUEST_MAX >> 20} MiB"
    return encode(failure(RdbError(text))) if begins.startswith(b"qRdb.") else b"E." + text.encode()


class Server:
    def __init__(
        self,
        timeline: Timeline,
        recording: RankRecording,
        connection: Connection,
        turning: Turning | None = None,
        forking: Forking | None = None,
        original: Server | None = None,
    ) -> None:
        self._connection = connection
        self._turning = turning
        self._forking = forking
        self._turned = False  # the client has turned to another rank
        self._pressed_at = -math.inf
        self._prepared = -1  # serial of the stop for which `_prepare` has run
        self._worker = Worker()
        self._files: Files = Files(recording) if original is None else original._files
        self._stub: Stub = self._stand_in(timeline, recording)
        if original is not None:  # a copy: takes over the state of the original's connection
            self._stub.after(original._stub)
            self._connection.acks = original._stub.acks

    def _stand_in(self, timeline: Timeline, recording: RankRecording) -> Stub:
        """Makes all objects that belong to one rank."""
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
        """NAME or NAME,fresh: turns to that rank."""
        assert self._turning is not None
        name, _, how = body.decode("utf-8", "replace").partition(",")
        self._settle()
        try:
            with system_errors():
                timeline, recording = self._turning.to(name, how == "fresh")
                if self._timeline is not timeline:
                    self._motion.stop_points.close()
                    self._stub = self._stand_in(timeline, recording).after(self._stub)
        except RdbError as error:
            return encode(failure(error))
        self._turned = True
        return self._queries.handle(b"state")

    def _fork(self, body: bytes) -> bytes:
        """RANK,PATH: makes a copy of this server for that rank, which connects to the socket."""
        assert self._forking is not None
        name, _, path = body.decode("utf-8", "replace").partition(",")
        self._settle()

        def serve(timeline: Timeline, recording: RankRecording, fd: int) -> None:
            Server(timeline, recording, Connection(fd, fd), original=self).run()

        try:
            with system_errors():
                return encode({"pid": self._forking.fork(name, path, self._files.fds, serve)})
        except RdbError as error:
            return encode(failure(error))

    def run(self) -> Left:
        """Serves until the client kills, ends the server, or closes the connection."""
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
            self._motion.stop_points.close()
            self._files.close()
        self._leave()
        return Left(self._stub.leaving)

    def _leave(self) -> None:
        """Undoes what this client has set and changed, for the next client."""
        self._timeline.exchange_points(Points())  # also those of a search that it left
        if self._stub.killed:
            self._timeline.goto_start()
        else:  # also if nothing was changed: it clears a pending interrupt
            self._timeline.seek(self._timeline.position)

    def _prepare(self) -> None:
        """While the user thinks, prepares what the next command may need, until a packet comes."""
        serial = self._motion.stop_points.serial
        if (
            self._turned  # a client that turns between ranks does not go back in them
            or serial == self._prepared
            or self._queries.busy
            or not self._connection.quiet(_THINKING_S)
        ):
            return
        self._prepared = serial
        job = self._worker.start(self._timeline.prepare)
        self._worker.wait(job, self._connection.read_fd, self._disturbed)
        with suppress(RdbError):  # told when the work is needed
            job.result()
        self._settle()

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
        self._settle()
        move = self._stub.resume(data)
        if move is not None:
            self._move(move, answered=not data.startswith(b"R"))
            return
        reply = self._stub.handle(data)
        if not data.startswith(b"k"):  # the one request without a reply
            self._connection.send(reply)
        if not self._stub.acks:
            self._connection.acks = False

    def _settle(self) -> None:
        """Waits for a request under way and forgets an interrupt that came too late for it, so that
        it does not end the next operation."""
        self._queries.settle()
        self._timeline.begin()

    def _move(self, move: Move, answered: bool = True) -> None:
        if time.monotonic() - self._pressed_at < _EARLY_S:
            self._pressed_at = -math.inf
            self._tell(Stopped("interrupt"), answered)
            return
        job = self._worker.start(move)
        self._worker.wait(job, self._connection.read_fd, self._heard)
        if self._connection.closed:
            return
        try:
            stopped: Stopped = job.result()
        except RdbError as error:
            stopped = Stopped("diverged", text=error.line())
        self._settle()
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

    def _tell(self, stopped: Stopped, answered: bool) -> None:
        """Sends the stop reply, or an error: GDB waits for one of them."""
        try:
            reply = self._stub.stopped(stopped)
        except RdbError as error:
            reply = told(error)  # GDB prints a warning, takes it for a stop, and asks again
        if answered:
            self._connection.send(reply)

    def _heard(self) -> bool:
        """Reads input while the rank moves: an interrupt, or the end of the connection."""
        self._connection.fill()
        if self._connection.closed:
            self._motion.interrupt()
            return False
        packet = self._connection.poll()
        while packet is not None:
            if packet.interrupt:
                self._pressed_at = time.monotonic()  # the move may end before the interrupt
                self._motion.interrupt()
            else:  # who asks for a move without a reply goes on asking
                self._connection.keep(packet)
            packet = self._connection.poll()
        return True

    def _say(self, text: str) -> None:
        """Console output of the target; allowed only while it runs (`O`, GDB manual E.3)."""
        self._connection.send(b"O" + text.encode("utf-8").hex().encode("ascii"))


def make_objects(timeline: Timeline, recording: RankRecording, threads: Threads) -> Objects:
    hello = timeline.hello
    auxv = timeline.read_memory(hello.auxv_addr, hello.auxv_len)
    return Objects(
        exec_file=str(recording.meta.get("exe", "")),
        auxv=correct_auxv(auxv, hello.entry),
        threads=threads.xml,
        siginfo=lambda: siginfo(timeline, threads.selected),
    )


def serve(
    timeline: Timeline,
    recording: RankRecording,
    read_fd: int,
    write_fd: int | None = None,
    turning: Turning | None = None,
    forking: Forking | None = None,
) -> Left:
    """Serves one GDB over descriptors; WRITE_FD None: READ_FD is a socket."""
    connection = Connection(read_fd, read_fd if write_fd is None else write_fd)
    return Server(timeline, recording, connection, turning, forking).run()
