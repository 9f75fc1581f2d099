"""A job's files on hosts that do not share a file system: listing, reading and writing them.

Only names that a job's directory or a store can have are read or written.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from rdb.checked import from_json
from rdb.coordinate.centre import APART, CENTRE, NO_CENTRE, checkpoints_of
from rdb.errors import DamagedRecording, RdbError, Usage
from rdb.private import check_job, make_directories, make_directory, opener
from rdb.recording.log.segments import segment_end
from rdb.temporary import temporary
from rdb.undoing import on_failure
from rdb.wire.channel import Message
from rdb.wire.identity import Identity, is_job_of, write_keys
from rdb.wire.peer import Answer

CHUNK_BYTES = 4 << 20
# What job.json, rank-N/ and files/ hold (docs/internals/on-disk.md), and a branch's own files.
_NAME = re.compile(
    r"(?:rank-\d+/(?:(?:child-\d+|exec)/)*|(?:files|later|mpi-files)/)?[A-Za-z0-9_+][^/\0]*\Z"
)
# Files that exist before a job starts (rdb/agents/preparing.py).
MADE = re.compile(
    r"(?:(?:job|restart)\.json|later-files|sockets-ranks|kept-budget|(?:in-flight|verbs-plan|verbs-begun|mpi-files)-\d+)\Z"
)
_COPY = re.compile(r"(?:later|mpi-files)/\d+-[^/\0]{1,240}\Z")
FOLDERS = ("later", "mpi-files")
_PACK = re.compile(r"[0-9a-f]{64}\Z")
_TOKEN = re.compile(r"[0-9a-f]{32}\Z")


def shared(token: str) -> str:
    """Name of the file that shows whether two hosts see one directory."""
    if not _TOKEN.match(token):
        raise Usage("agent: the token is not 32 hexadecimal digits")
    return f".shared-{token}"


class Parts:
    """The files of one job."""

    def __init__(self, job: str, identity: Identity) -> None:
        self._job = Path(job)
        self._identity = identity

    def answer(self, message: Message, data: bytes) -> Answer:
        operation = message["op"]
        if operation == "shared":
            return {"shared": self._holds(str(message["token"]))}, b""
        if operation == "prepare":
            return self._prepare(message), b""
        if operation == "discard":
            return {"gone": self._discard(bool(message.get("recorded")))}, b""
        if operation == "list":
            return {"files": self._list()}, b""
        if operation == "read":
            return self._read(str(message["name"]), int(message["offset"]))
        if operation == "segment-end":
            return {"end": segment_end(self._path(str(message["name"])))}, b""
        if operation == "pack":
            return self._put(str(message["sha256"]), int(message["offset"]), data), b""
        if operation == "copy":
            return self._copy(str(message["name"]), int(message["offset"]), data), b""
        if operation == "unpack":
            return self._unpack(str(message["sha256"])), b""
        raise Usage(f"agent: no operation {operation!r}")

    def _holds(self, token: str) -> bool:
        return (self._job / shared(token)).exists()

    def _prepare(self, message: Message) -> Message:
        """Makes this host's directory of a job that starts elsewhere.

        Returns `seen`: true if another host, which shares the directory, has made it already.
        """
        files = {str(name): str(text) for name, text in message["files"].items()}
        if not all(map(MADE.match, files)):
            raise Usage("agent: the request names a file that no job has")
        make_directories(str(self._job.parent))
        try:
            make_directory(str(self._job))
        except FileExistsError:
            if self._holds(str(message["token"])):
                return {"seen": True}
            raise RdbError(
                f"{self._job} exists already", "give another --name, or remove it on that host"
            ) from None
        with on_failure(lambda: shutil.rmtree(self._job)):
            self._fill(message, files)
        return {"seen": False}

    def _fill(self, message: Message, files: dict[str, str]) -> None:
        self._write(shared(str(message["token"])), "")
        self._write(APART, CENTRE if message["centre"] else NO_CENTRE)
        write_keys(self._job, self._identity)
        stored = self._job / "files"
        make_directory(str(stored))
        for name in message["folders"]:
            if name not in FOLDERS:
                raise Usage("agent: the request names a directory that no job has")
            make_directory(str(self._job / name))
        if message.get("parent"):
            parent = Path(message["parent"])
            check_job(str(parent))
            for one in (parent / "files").iterdir():
                try:
                    os.link(one, stored / one.name)
                except OSError:
                    shutil.copyfile(one, stored / one.name)
        for name, text in sorted(files.items(), key=lambda one: one[0] == "job.json"):
            self._write(name, text)

    def _write(self, name: str, text: str) -> None:
        how = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
        with open(self._job / name, "x", opener=opener, **how) as file:  # type: ignore[call-overload]
            file.write(text)

    def _discard(self, recorded: bool) -> bool:
        """Removes the directory; false if it is another job's.

        Without RECORDED that of a job that did not start; false if ranks have recorded there.
        """
        check_job(str(self._job))
        if not is_job_of(self._job, self._identity):
            return False
        if recorded:
            from rdb.recording import open_job

            open_job(self._job).remove()
            return True
        if any(self._job.glob("rank-*/log-000000.seg")) and not self._no_checkpoint():
            return False
        shutil.rmtree(self._job, ignore_errors=True)
        return True

    def _no_checkpoint(self) -> bool:
        """A job without a log and without checkpoints has left nothing that could go on."""
        meta = from_json((self._job / "job.json").read_text(encoding="utf-8"))
        return meta.get("record") == "off" and not checkpoints_of(str(self._job))

    def _list(self) -> list[tuple[str, int, int]]:
        """Name, size and time of the last change of each file."""
        check_job(str(self._job))
        found = []
        for folder, _, names in os.walk(self._job):
            for name in names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, self._job)
                if _NAME.match(relative):
                    try:
                        seen = os.lstat(path)
                    except FileNotFoundError:  # a running rank renames its files
                        continue
                    found.append((relative, seen.st_size, seen.st_mtime_ns))
        return found

    def _path(self, name: str) -> Path:
        if not _NAME.match(name):
            raise Usage(f"agent: {name!r} is not the name of a job's file")
        return self._job / name

    def _read(self, name: str, offset: int) -> Answer:
        """A piece from OFFSET, without its trailing zeros; `bytes` counts them."""
        path = self._path(name)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            piece = os.pread(file.fileno(), CHUNK_BYTES, offset)
        return {"size": size, "bytes": len(piece)}, piece.rstrip(b"\0")

    def _incoming(self, sha256: str) -> Path:
        if not _PACK.match(sha256):
            raise Usage("agent: the SHA-256 is not 64 hexadecimal digits")
        return temporary(self._job.parent, f"incoming-{sha256}")

    def _put(self, sha256: str, offset: int, data: bytes) -> Message:
        path = self._incoming(sha256)
        make_directories(str(path.parent))
        with open(path, "r+b" if offset else "wb", opener=opener) as file:
            file.seek(offset)
            file.write(data)
        return {}

    def _copy(self, name: str, offset: int, data: bytes) -> Message:
        """Writes a piece of a file that ranks of this host write to."""
        if not _COPY.match(name):
            raise Usage(f"agent: {name!r} is not the name of a branch's copy")
        check_job(str(self._job))
        with open(self._job / name, "r+b" if offset else "xb", opener=opener) as file:
            file.seek(offset)
            file.write(data)
        return {}

    def _unpack(self, sha256: str) -> Message:
        """Unpacks a received pack as `rdb attach FILE` does.  DamagedRecording: wrong SHA-256."""
        import hashlib

        from rdb.recording import open_job

        path = self._incoming(sha256)
        try:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise DamagedRecording(
                        f"{path}: the pack was damaged on its way: wrong SHA-256"
                    )
            return {"path": str(open_job(path).path)}
        finally:
            path.unlink(missing_ok=True)
