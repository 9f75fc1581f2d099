"""Replica: a process that replays one rank from an image and the log.

We talk to its agent (interface/agent.h) over a socket pair.  A stopped replica exits when the
socket closes, and `_Lifeline` ends one that runs, so none is left behind even if this process is
killed.  Snapshots are forks of replicas, hence not our children.  This process becomes their
"subreaper" to collect their exit status (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from rdb import paths
from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, RdbError, VersionMismatch
from rdb.recording import RankRecording
from rdb.replay.agent import AgentClient

_PR_SET_CHILD_SUBREAPER = 36
_F_SETSIG = 10
# The command that has a message made by its sender (interposer/replay/ask.h), a word a line.
_ASK = "\n".join([sys.executable, "-m", "rdb.live.expand.ask"])
_HIGH_FD = 700  # above what a program uses
_EXIT_DEADLINE_S = 5.0

# Images whose checksums were right: (path, inode, mtime in ns).
_checked: set[tuple[Path, int, int]] = set()

_IMAGE = re.compile(r"/ckpt-\d+\.img: (?!cannot map |image v)")  # interposer/image/image_restore.c

# Ended replicas whose parent, another replica, has not ended yet.
_unreaped: set[int] = set()


def _identity(recording: RankRecording, checkpoint: int | None) -> tuple[Path, int, int] | None:
    images = [one for one in recording.images if checkpoint in (None, one.number)]
    try:
        status = images[0].path.stat()
    except (IndexError, FileNotFoundError):
        return None  # rdb-exec says what is wrong
    return (images[0].path, status.st_ino, status.st_mtime_ns)


def _become_subreaper() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), "prctl(PR_SET_CHILD_SUBREAPER)")


def _reap_ended() -> None:
    for pid in list(_unreaped):
        try:
            done, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            # Not our child: the parent replica lives, or has collected it.
            if not Path(f"/proc/{pid}").exists():
                _unreaped.discard(pid)
            continue
        if done:
            _unreaped.discard(pid)


def unreaped() -> set[int]:
    """Ended replicas that could not be collected yet (for tests: empty once all are closed)."""
    _reap_ended()
    return set(_unreaped)


class CannotStart(DamagedRecording):
    """No replica could be started; CAUSE: the newest error line of its stderr."""

    def __init__(self, path: Path, cause: str, exit_code: int | None) -> None:
        super().__init__(
            f"the recording in {path} cannot be replayed: {cause}", exit_code=exit_code
        )
        self.cause = cause

    @property
    def of_image(self) -> bool:
        """Is the image damaged?  Then another checkpoint may still work."""
        return is_of_image(self.cause)


class _Lifeline:
    """A pipe that ends a replica and its forks when this process closes it or ends.

    A stopped replica notices that its socket is closed; one that runs, perhaps in an endless loop,
    does not.  No process writes to the pipe, so its only event is the close of our end.  The kernel
    then sends SIGKILL to the replica's process group (fcntl(2), F_SETOWN and F_SETSIG).
    """

    def __init__(self) -> None:
        self._ours = -1
        self.theirs, self._ours = os.pipe()
        low = self.theirs
        try:
            self.theirs = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
        except OSError as error:
            if error.errno == errno.EINVAL:  # a low limit of descriptors
                return
            os.close(low)
            raise
        os.close(low)

    def hold(self, group: int) -> None:
        """Ends the process group GROUP with the pipe; its processes have inherited `theirs`."""
        fcntl.fcntl(self.theirs, fcntl.F_SETOWN, -group)
        fcntl.fcntl(self.theirs, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(self.theirs, fcntl.F_SETFL, os.O_RDONLY | os.O_ASYNC)

    def close(self) -> None:
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    __del__ = close


class Replica:
    """One process; `agent` moves and inspects it."""

    def __init__(
        self,
        agent: AgentClient,
        lifeline: _Lifeline,
        process: subprocess.Popen[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        self.agent = agent
        self._lifeline: _Lifeline | None = (
            lifeline  # shared with all forks; dropped when the last of them is closed
        )
        self._process = process
        self._stderr = stderr
        self._pid = agent.pid
        self._closed = False

    @classmethod
    def start(cls, recording: RankRecording, checkpoint: int | None = None) -> Replica:
        """Starts a replica at a checkpoint of the recording; None: the first one.

        Raises CannotStart with the replica's own error, VersionMismatch, or RdbError if rdb-exec
        cannot be executed or nothing was recorded of this process.
        """
        if recording.is_empty:
            raise RdbError(f"process {recording.name} ended before its first event")
        _become_subreaper()
        # Checking 1 GB takes longer than mapping it: this process checks each image once.
        image = _identity(recording, checkpoint)
        with ExitStack() as failed:
            with ExitStack() as given:  # of these the replica has its own copies
                lifeline = _Lifeline()
                failed.callback(lifeline.close)
                given.callback(os.close, lifeline.theirs)
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                failed.enter_context(ours)
                given.enter_context(theirs)
                stderr = failed.enter_context(open(os.memfd_create("stderr"), "w+b"))
                command = [
                    str(paths.rdb_exec_path()),
                    *("--replay", str(recording.path)),
                    *("--files", str(recording.files_dir)),
                    *(() if checkpoint is None else ("--checkpoint", str(checkpoint))),
                    *(() if recording.open_end is None else ("--until", str(recording.open_end))),
                    *(("--checked",) if image in _checked else ()),
                    *(("--ask", _ASK) if recording.lean else ()),
                    *("--agent-fd", str(theirs.fileno())),
                ]
                try:
                    # Its own process group: Ctrl-C at the terminal must not reach the replica.
                    process = subprocess.Popen(
                        command,
                        env=for_rdb_exec(os.environ),
                        pass_fds=[theirs.fileno(), lifeline.theirs],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=stderr,
                        process_group=0,
                    )
                    lifeline.hold(process.pid)
                except OSError as error:
                    raise RdbError(
                        f"cannot start {command[0]}: {error.strerror}", "run `make dev`"
                    ) from error
            try:
                said = _Said(stderr)
                agent = AgentClient(ours, said)
                agent.hello()
                said.begun()
            except (OSError, EOFError, RdbError) as error:
                ours.close()
                process.kill()
                code = process.wait()
                if isinstance(error, VersionMismatch):
                    raise
                raise _start_failure(stderr, code, recording.path) from error
            failed.pop_all()
        if image is not None:
            _checked.add(image)
        return cls(agent, lifeline, process, stderr)

    @property
    def pid(self) -> int:
        return self._pid

    def fork(self) -> Replica:
        """A copy of the replica at its position, without breakpoints."""
        assert self._lifeline is not None, "it is closed"
        return Replica(self.agent.fork(), self._lifeline)

    def close(self) -> None:
        """Ends the process.  Its exit status is collected now or, if its parent lives, later."""
        if self._closed:
            return
        self._closed = True
        self.agent.close()
        if self._process is not None:
            try:
                self._process.wait(_EXIT_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        else:
            _unreaped.add(self._pid)
        if self._stderr is not None:
            self._stderr.close()
        self._lifeline = None
        _reap_ended()


class _Said:
    """The stderr of a replica, which its forks share."""

    def __init__(self, stderr: IO[bytes]) -> None:
        self._stderr = stderr
        self._heard = 0

    def begun(self) -> None:
        """Ignores what was written up to now: it was no error that ends a replica."""
        self._heard = os.fstat(self._stderr.fileno()).st_size

    def __call__(self) -> str:
        if self._stderr.closed:
            return ""
        fd = self._stderr.fileno()
        new = os.fstat(fd).st_size - self._heard
        return cause(os.pread(fd, new, self._heard).decode(errors="replace"))


def is_of_image(cause: str) -> bool:
    """Does an error line of a replica say that an image is damaged?"""
    return bool(_IMAGE.search(cause))


def cause(said: str) -> str:
    """The newest line of a replica's stderr that names an error."""
    lines = [line.removeprefix("rdb: ") for line in said.strip().splitlines()]
    telling = [line for line in lines if ": cannot be replayed: " not in line]
    return (telling or lines or [""])[-1]


def _start_failure(stderr: IO[bytes], code: int, path: Path) -> RdbError:
    """The exception for a replica that ended before its first answer."""
    stderr.seek(0)
    said = stderr.read().decode(errors="replace").strip()
    stderr.close()
    last = cause(said) or f"exit code {code}"
    return CannotStart(path, last, code if code in (3, 4, 5, 125) else None)
