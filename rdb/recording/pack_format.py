"""The format of a pack: a zip archive with one job, and a manifest that lists its files.

manifest.json            the job's name, and size and SHA-256 of each file below
job.json, files/KEY      as in a job's directory
rank-R/...               logs, images, cautions of the ranks packed and of their processes
commit-N, rank-R/...     of a job without a log: its checkpoints
   symbols/PATH             detached debug information, named by its path below /usr/lib/debug
   sources/PATH             source files, named by their absolute path

The archive is only a container.  Of its contents rdb trusts only the manifest, and the manifest
only after this module has checked it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from rdb.errors import DamagedRecording, VersionMismatch

PACK_VERSION = 1
MANIFEST = "manifest.json"
MANIFEST_MAX_BYTES = 64 << 20
BLOCK_BYTES = 1 << 16  # unit of reading and hashing; a block of zeros becomes a hole
ZEROS = bytes(BLOCK_BYTES)

_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,200}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
# Other files in a recording's directory; most describe what a branch began with.
BESIDE = (
    r"cautions|sums|payload(?:\.part|\.marks)?|descriptors|own-files|scheduling|timers|posix-timers|signals|was-(?:own-)?\d{1,9}"
    r"|tree-began|tree-nodes|attributes|locks|pids|tree-pids|children-before|shared-\d{1,9}(?:-(?:was|reads|writes))?"
    r"|shared-began|mapped-files|mapped-\d{1,9}-was"
    r"|mpi-objects|mpi-begun"
    r"|verbs-objects|verbs-begun|verbs-device|sockets-begun|sockets-had|mpi-file-\d{1,9}"
    r"|mpi-files-begun|mpi-files-open|mpi-was-\d{1,9}|kept-\d{1,9}|own-here"
)
_RECORDING = re.compile(
    r"rank-\d{1,9}/(?:(?:child-[1-9]\d{0,8}|exec)/){0,64}"
    rf"(?:log-\d{{6,9}}\.seg|ckpt-\d{{6,9}}\.img|{BESIDE})\Z"
)
_TOGETHER = re.compile(r"commit-\d{1,9}\Z|rank-\d{1,9}/(?:state-\d{1,9}|was-\d{1,9}-\d{1,9})\Z")
_TREES = ("symbols", "sources")
_NAME_MAX = 255
_PATH_MAX = 3000


class PackedFile(NamedTuple):
    size_bytes: int
    data_bytes: int  # bytes in blocks that are not all zeros
    sha256: str


class Manifest(NamedTuple):
    job: str
    files: dict[str, PackedFile]

    def to_json(self) -> bytes:
        files = {
            path: {"size": one.size_bytes, "data": one.data_bytes, "sha256": one.sha256}
            for path, one in sorted(self.files.items())
        }
        return json.dumps({"version": PACK_VERSION, "job": self.job, "files": files}).encode()

    @classmethod
    def from_json(cls, where: str, data: bytes) -> Manifest:
        """Parses and checks all that unpacking relies on; WHERE: the pack's path, for errors.

        Raises DamagedRecording or VersionMismatch.
        """
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DamagedRecording(f"{where}: {MANIFEST}: expected JSON") from error
        if not isinstance(value, dict) or not isinstance(value.get("version"), int):
            raise DamagedRecording(f"{where}: {MANIFEST}: expected an object with a version")
        if value["version"] != PACK_VERSION:
            raise VersionMismatch(
                f"{where} is a pack v{value['version']}, this rdb reads v{PACK_VERSION}"
            )
        job, files = value.get("job"), value.get("files")
        if not isinstance(job, str) or not _JOB_NAME.match(job):
            raise DamagedRecording(f"{where}: {MANIFEST}: {job!r} cannot be a job's name")
        if not isinstance(files, dict) or "job.json" not in files:
            raise DamagedRecording(f"{where}: {MANIFEST}: expected the job's files")
        return cls(job, {path: _file(where, path, one) for path, one in files.items()})


def _file(where: str, path: str, value: Any) -> PackedFile:
    if not allowed(path):
        raise DamagedRecording(f"{where}: {path!r} has no place in a job's directory")
    fields = value if isinstance(value, dict) else {}
    size, data, digest = fields.get("size"), fields.get("data"), fields.get("sha256")
    if (
        not isinstance(size, int)
        or not isinstance(data, int)
        or not isinstance(digest, str)
        or not 0 <= data <= size < 1 << 62
        or not _SHA256.match(digest)
    ):
        raise DamagedRecording(f"{where}: {MANIFEST}: {path}: expected size, data and sha256")
    return PackedFile(size, data, digest)


def allowed(path: str) -> bool:
    """Is a relative path a possible name of a file in a job's directory?"""
    parts = path.split("/")
    if len(path) > _PATH_MAX or not all(_plain(part) for part in parts):
        return False
    if path == "job.json" or _RECORDING.match(path) or _TOGETHER.match(path):
        return True
    return (len(parts) == 2 and parts[0] == "files") or (len(parts) > 1 and parts[0] in _TREES)


def _plain(part: str) -> bool:
    return (
        part not in ("", ".", "..")
        and len(part.encode("utf-8", "surrogatepass")) <= _NAME_MAX
        and part.isprintable()
        and "\\" not in part
    )
