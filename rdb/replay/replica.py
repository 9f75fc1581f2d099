"""Replica: a process that runs a rank's recording, alone, from an image and the log.

Its agent (interposer/seek/agent.h) is spoken to over a socket pair; when that closes, the replica
exits by itself, so nothing is left behind even if this process is killed.  Snapshots are forks of
replicas, hence not our children: we are made their "subreaper" so that their ends are ours to
collect (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from rdb import paths
from rdb.errors import DamagedRecording, RdbError
from rdb.recording.checkpoints import Checkpoint
from rdb.replay.agent import AgentClient

_PR_SET_CHILD_SUBREAPER = 36
_EXIT_DEADLINE_S = 5.0

# Images whose pages have been found right, as they were then: (path, inode, time).
_checked: set[tuple[Path, int, int]] = set()

_IMAGE = re.compile(r"/ckpt-\d+\.img: (?!cannot map |image v)")  # interposer/image/image_restore.c

# Ended replicas whose parent (another replica) was still there when we looked.
_unreaped: set[int] = set()


class Source(Protocol):
    """What a replica needs to know of a rank's recording (rdb.recording.RankRecording has it)."""

    @property
    def path(self) -> Path: ...
    @property
    def files_dir(self) -> Path: ...
    @property
    def images(self) -> Sequence[Checkpoint]: ...
    @property
    def open_end(self) -> int | None: ...
    @property
    def no_beginning(self) -> RdbError | None: ...


def _identity(recording: Source, checkpoint: int | None) -> tuple[Path, int, int] | None:
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
            # Not (yet) ours: its parent replica lives, or has collected it itself.
            if not Path(f"/proc/{pid}").exists():
                _unreaped.discard(pid)
            continue
        if done:
            _unreaped.discard(pid)


def unreaped() -> set[int]:
    """Ended replicas that could not be collected yet (for tests: empty once all are closed)."""
    _reap_ended()
    return set(_unreaped)


def wait_all_gone(deadline_s: float = _EXIT_DEADLINE_S) -> bool:
    """Waits until every closed replica is gone; the parents must be closed too."""
    until = time.monotonic() + deadline_s
    pause = 0.0005
    while unreaped():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    return True


class CannotStart(DamagedRecording):
    """No replica could be made; CAUSE: what it said."""

    def __init__(self, path: Path, cause: str, exit_code: int | None) -> None:
        super().__init__(
            f"the recording in {path} cannot be replayed: {cause}", exit_code=exit_code
        )
        self.cause = cause

    @property
    def of_image(self) -> bool:
        """Is it an image that is not whole, not what it needs besides?  Another one may do then."""
        return is_of_image(self.cause)


class Replica:
    """One process, moved and looked into through `agent`."""

    def __init__(
        self,
        agent: AgentClient,
        process: subprocess.Popen[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        self.agent = agent
        self._process = process
        self._stderr = stderr
        self._pid = agent.pid
        self._closed = False

    @classmethod
    def start(cls, recording: Source, checkpoint: int | None = None) -> Replica:
        """A replica at a checkpoint of the recording, the first one unless told otherwise."""
        _become_subreaper()
        # A gigabyte takes longer to check than to map: once in the life of this process.
        image = _identity(recording, checkpoint)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stderr = open(os.memfd_create("stderr"), "w+b")  # noqa: SIM115  (lives as long as the replica)
        command = [
            str(paths.rdb_exec_path()),
            *("--replay", str(recording.path)),
            *("--files", str(recording.files_dir)),
            *(() if checkpoint is None else ("--checkpoint", str(checkpoint))),
            *(() if recording.open_end is None else ("--until", str(recording.open_end))),
            *(("--checked",) if image in _checked else ()),
            *("--agent-fd", str(theirs.fileno())),
        ]
        try:
            # A group of its own: Ctrl-C at the terminal is for the debugger.
            process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                process_group=0,
            )
        except OSError as error:
            ours.close()
            stderr.close()
            raise RdbError(
                f"cannot start {command[0]}: {error.strerror}", "run `make dev`"
            ) from error
        finally:
            theirs.close()
        try:
            said = _Said(stderr)
            agent = AgentClient(ours, said)
            agent.hello()
            said.begun()
        except (OSError, EOFError, RdbError) as error:
            ours.close()
            process.kill()
            code = process.wait()
            raise _start_failure(stderr, code, recording.path) from error
        if image is not None:
            _checked.add(image)
        return cls(agent, process, stderr)

    @property
    def pid(self) -> int:
        return self._pid

    def fork(self) -> Replica:
        """A copy of the replica where it stands, without breakpoints."""
        return Replica(self.agent.fork())

    def close(self) -> None:
        """Ends the process.  Its end is collected now or, if its parent lives, later."""
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
        _reap_ended()


class _Said:
    """What a replica and those that were forked from it, which go on writing, say."""

    def __init__(self, stderr: IO[bytes]) -> None:
        self._stderr = stderr
        self._heard = 0

    def begun(self) -> None:
        """What it has said by now was no reason to end."""
        self._heard = os.fstat(self._stderr.fileno()).st_size

    def __call__(self) -> str:
        if self._stderr.closed:
            return ""
        fd = self._stderr.fileno()
        new = os.fstat(fd).st_size - self._heard
        return cause(os.pread(fd, new, self._heard).decode(errors="replace"))


def is_of_image(cause: str) -> bool:
    """Did it end for an image that is not whole?"""
    return bool(_IMAGE.search(cause))


def cause(said: str) -> str:
    """Of what a replica said before it gave up: the newest line that says what was wrong."""
    lines = [line.removeprefix("rdb: ") for line in said.strip().splitlines()]
    telling = [line for line in lines if ": cannot be replayed: " not in line]
    return (telling or lines or [""])[-1]


def _start_failure(stderr: IO[bytes], code: int, path: Path) -> RdbError:
    """What the replica said before it gave up, as our error."""
    stderr.seek(0)
    said = stderr.read().decode(errors="replace").strip()
    stderr.close()
    last = cause(said) or f"exit code {code}"
    return CannotStart(path, last, code if code in (3, 4, 5, 125) else None)
