"""A job's files on hosts that do not share a file system: looking at them, fetching, putting.

Names are those that a job's directory or a store can have: nothing else is read or written.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from rdb.agents.channel import Message
from rdb.agents.peer import Answer
from rdb.errors import DamagedRecording, Usage
from rdb.private import check_job, make_directories, make_directory, opener

CHUNK_BYTES = 4 << 20
# job.json and what rank-N/ and files/ hold (ARCHITECTURE.md, On disk)
_NAME = re.compile(r"(?:rank-\d+/(?:(?:child-\d+|exec)/)*|files/)?[A-Za-z0-9_+][^/\0]*\Z")
_BRANCH_FILE = re.compile(r"(?:restart\.json|in-flight-\d+|job\.json)\Z")
_PACK = re.compile(r"[0-9a-f]{64}\Z")
_TOKEN = ".shared"  # made by who asks, to see whether it is there too


class Parts:
    """Those of one job."""

    def __init__(self, job: str) -> None:
        self._job = Path(job)

    def answer(self, message: Message, data: bytes) -> Answer:
        operation = message["op"]
        if operation == "shared":
            return {"shared": self._holds(str(message["token"]))}, b""
        if operation == "prepare":
            return self._prepare(message), b""
        if operation == "discard":
            return {"gone": self._discard()}, b""
        if operation == "list":
            return {"files": self._list()}, b""
        if operation == "read":
            return self._read(str(message["name"]), int(message["offset"]))
        if operation == "pack":
            return self._put(str(message["sha256"]), int(message["offset"]), data), b""
        if operation == "unpack":
            return self._unpack(str(message["sha256"])), b""
        raise Usage(f"agent: no operation {operation!r}")

    def _holds(self, token: str) -> bool:
        try:
            return (self._job / _TOKEN).read_text(encoding="ascii") == token
        except OSError:
            return False

    def _prepare(self, message: Message) -> Message:
        """This host's own part of a job that is made elsewhere."""
        files = {str(name): str(text) for name, text in message["files"].items()}
        if not all(map(_BRANCH_FILE.match, files)):
            raise Usage("agent: such files are of no job")
        make_directories(str(self._job.parent))
        make_directory(str(self._job))
        stored = self._job / "files"
        make_directory(str(stored))
        if message.get("parent"):
            parent = Path(message["parent"])
            check_job(str(parent))
            for one in (parent / "files").iterdir():
                try:
                    os.link(one, stored / one.name)
                except OSError:
                    shutil.copyfile(one, stored / one.name)
        for name, text in sorted(files.items(), key=lambda one: one[0] == "job.json"):
            with open(self._job / name, "x", encoding="utf-8", opener=opener) as file:
                file.write(text)
        return {}

    def _discard(self) -> bool:
        """Takes back what was prepared for a job that did not start."""
        check_job(str(self._job))
        if any(self._job.glob("rank-*/log-000000.seg")):
            return False
        shutil.rmtree(self._job, ignore_errors=True)
        return True

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

    def _read(self, name: str, offset: int) -> Answer:
        """A piece, without the zeros at its end."""
        if not _NAME.match(name):
            raise Usage(f"agent: {name!r} is no file of a job")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._job / name, flags), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            piece = os.pread(file.fileno(), CHUNK_BYTES, offset)
        return {"size": size, "bytes": len(piece)}, piece.rstrip(b"\0")

    def _incoming(self, sha256: str) -> Path:
        if not _PACK.match(sha256):
            raise Usage("agent: that is no SHA-256")
        return self._job.parent / f".incoming-{sha256}.rdb"

    def _put(self, sha256: str, offset: int, data: bytes) -> Message:
        path = self._incoming(sha256)
        make_directories(str(path.parent))
        with open(path, "r+b" if offset else "wb", opener=opener) as file:
            file.seek(offset)
            file.write(data)
        return {}

    def _unpack(self, sha256: str) -> Message:
        """As `rdb attach FILE` does it: checked, and never outside its folder."""
        import hashlib

        from rdb.recording import open_job

        path = self._incoming(sha256)
        try:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise DamagedRecording(f"{path}: it did not arrive whole")
            return {"path": str(open_job(path).path)}
        finally:
            path.unlink(missing_ok=True)
