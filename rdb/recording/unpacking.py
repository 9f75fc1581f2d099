"""Opening a pack: it is checked, and unpacked once into the user's own folder.

A pack is not trusted.  File names are checked (pack_format.py), files are created in a new private
folder, and no file is longer than the manifest says.  So a pack can neither write elsewhere nor
fill the disk unexpectedly.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from rdb.errors import DamagedRecording, RdbError, Unsupported
from rdb.private import check_job, make_directories, make_directory, opener
from rdb.recording.pack_format import (
    BLOCK_BYTES,
    MANIFEST,
    MANIFEST_MAX_BYTES,
    ZEROS,
    Manifest,
    PackedFile,
)
from rdb.temporary import temporary

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_NOT_OURS = (errno.EROFS, errno.EACCES, errno.EPERM)


def unpacked(path: Path, store: Path) -> Path:
    """The directory of the pack's job, below STORE; unpacks it at the first call.

    Raises DamagedRecording, VersionMismatch, NotYours, or Unsupported if there is no room.
    """
    check_job(str(path))
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            manifest, digest = _manifest(path, archive)
            folder = store / digest
            job = folder / manifest.job
            if not (job / "job.json").is_file():
                _unpack(path, archive, manifest, folder)
            return job
    except _BROKEN as error:
        raise DamagedRecording(f"{path}: not a pack, or an incomplete one: {error}") from error
    except OSError as error:
        hint = "set RDB_HOME to a directory you may write to" if error.errno in _NOT_OURS else None
        raise Unsupported(f"cannot unpack {path}: {error.strerror or error}", hint) from error


def forget(job: Path, store: Path) -> bool:
    """Removes an unpacked job; False: JOB is not below STORE."""
    if job.parent.parent != store:
        return False
    shutil.rmtree(job.parent)
    return True


def _manifest(path: Path, archive: zipfile.ZipFile) -> tuple[Manifest, str]:
    """The manifest and its SHA-256, after comparing it with the archive's directory."""
    members = {}
    for info in archive.infolist():
        if info.filename in members:
            raise DamagedRecording(f"{path}: it holds {info.filename!r} twice")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.is_dir() or info.flag_bits & 1:
            raise DamagedRecording(f"{path}: {info.filename!r} is not a plain file")
        members[info.filename] = info
    if MANIFEST not in members:
        raise DamagedRecording(f"{path}: not a pack of rdb: it has no {MANIFEST}")
    if members[MANIFEST].file_size > MANIFEST_MAX_BYTES:
        raise DamagedRecording(f"{path}: {MANIFEST} is larger than {MANIFEST_MAX_BYTES} bytes")
    with archive.open(MANIFEST) as file:
        data = file.read(MANIFEST_MAX_BYTES + 1)
    manifest = Manifest.from_json(str(path), data)
    for name, info in members.items():
        known = manifest.files.get(name)
        if name != MANIFEST and (known is None or known.size_bytes != info.file_size):
            raise DamagedRecording(f"{path}: {name!r} differs from its entry in {MANIFEST}")
    for name in manifest.files:
        if name not in members:
            raise DamagedRecording(f"{path}: {name!r} is missing")
    return manifest, hashlib.sha256(data).hexdigest()


def _unpack(path: Path, archive: zipfile.ZipFile, manifest: Manifest, folder: Path) -> None:
    make_directories(str(folder.parent))
    needed = sum(one.data_bytes for one in manifest.files.values())
    free = shutil.disk_usage(folder.parent).free
    if needed > free:
        raise Unsupported(
            f"{path} needs {needed} bytes, but {folder.parent} has only {free} bytes free",
            "set RDB_HOME to another disk",
        )
    part = temporary(folder.parent, folder.name)
    try:
        make_directory(str(part))
        for name, wanted in sorted(manifest.files.items()):
            target = part / manifest.job / name
            make_directories(str(target.parent))
            with archive.open(name) as source, open(target, "xb", opener=opener) as file:
                _copy(f"{path}: {name}", source, file, wanted)  # type: ignore[arg-type]
        _in_place(part, folder, manifest.job)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(what: str, source: BinaryIO, target: BinaryIO, wanted: PackedFile) -> None:
    digest = hashlib.sha256()
    size = data = 0
    while block := source.read(BLOCK_BYTES):
        size += len(block)
        empty = ZEROS.startswith(block)
        data += 0 if empty else len(block)
        if size > wanted.size_bytes or data > wanted.data_bytes:
            raise DamagedRecording(f"{what}: larger than its entry in {MANIFEST} says")
        digest.update(block)
        if empty:
            target.seek(len(block), os.SEEK_CUR)
        else:
            target.write(block)
    if size != wanted.size_bytes or digest.hexdigest() != wanted.sha256:
        raise DamagedRecording(f"{what}: its SHA-256 differs from the one in {MANIFEST}")
    target.truncate(size)


def _in_place(temporary: Path, folder: Path, job: str) -> None:
    """Renames the complete folder to its final name; another rdb may have been faster."""
    try:
        os.rename(temporary, folder)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        if not (folder / job / "job.json").is_file():
            raise RdbError(
                f"{folder} exists but is incomplete", f"remove it: rm -r {folder}"
            ) from error
