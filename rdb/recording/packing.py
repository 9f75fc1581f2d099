"""Making a pack: which files of a job go into it, and writing it."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rdb.errors import DamagedRecording, RdbError, UnknownJob, Unsupported
from rdb.private import opener
from rdb.recording.checkpoints import check_image, read_images
from rdb.recording.log.head import log_head
from rdb.recording.log.record import Kind
from rdb.recording.order import unexpanded
from rdb.recording.pack_format import (
    BESIDE,
    BLOCK_BYTES,
    MANIFEST,
    ZEROS,
    Manifest,
    PackedFile,
    allowed,
)
from rdb.recording.ranges import format_ranks
from rdb.recording.rank import RankRecording
from rdb.recording.state import still_runs
from rdb.recording.store import Job
from rdb.recording.stored import check_stored, stored_keys
from rdb.recording.symbols.detached import DEBUG_FOLDER, SOURCES, SYMBOLS, debug_files, source_files
from rdb.temporary import temporary

_SEGMENT = re.compile(r"log-(\d{6,})\.seg\Z")
_BESIDE = re.compile(rf"(?:{BESIDE})\Z")
_IMAGE_HEAD = struct.Struct("<QIIQQII")  # struct image_header up to `base`
_SEGMENT_HEADER_BYTES = 24
Adder = Callable[[str, Path | bytes], None]
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest in a zip; constant: equal jobs give equal packs


class Packed(NamedTuple):
    """A pack that was written."""

    path: Path
    ranks: list[int]
    files: int
    size_bytes: int
    lost: list[str]
    """Messages about damaged parts of the job."""


def pack(job: Job, out: Path, ranks: list[int] | None = None, since: int | None = None) -> Packed:
    """Packs a job into the new file OUT.

    RANKS: only these ranks; None: all.  SINCE: only from that checkpoint of each rank on.  Raises
    UnknownJob for a missing rank or checkpoint, RdbError for a running job, DamagedRecording if
    nothing is left to replay from, Unsupported if OUT cannot be written.
    """
    missing = sorted(set(ranks or []) - set(job.ranks))
    if missing:
        known = format_ranks(job.ranks)
        raise UnknownJob(f"{job.name} has no rank {missing[0]}", f"its ranks: {known}")
    chosen = job.ranks if ranks is None else sorted(set(ranks))
    recordings = [
        recording
        for rank in chosen
        for process in job.process(rank).walk()
        for recording in process.programs
    ]
    lost: list[str] = []
    for recording in recordings:
        damage = _damage(recording)
        if damage is not None:
            lost.append(f"rank {recording.name} is packed although it is damaged: {damage}")
            continue
        if recording.state.lives:
            raise still_runs(recording.name, job.name)
        lost += (f"rank {recording.name}: {why}" for why in _damaged_images(recording).values())
        if recording.index.of_kind(Kind.CHECKPOINT) and not recording.images:
            raise DamagedRecording(
                f"{recording.path}: no image is left to replay rank {recording.name} from"
            )
    if (ranks is not None or since is not None) and unexpanded(job):
        raise RdbError(
            f"{job.name} holds only the order of messages: a part of it cannot be replayed",
            f"rdb expand {job.name}, or pack the whole job",
        )
    if since is not None and not any(one.number == since for r in recordings for one in r.images):
        raise UnknownJob(f"none of these ranks has a checkpoint {since}", f"rdb info {job.name}")
    parts = [
        (f"{recording.path.relative_to(job.path)}/{name}", source)
        for recording in recordings
        for name, source in _parts(recording, since)
    ]
    count = write_pack(out, job, recordings, parts)
    return Packed(out, chosen, count, out.stat().st_size, lost)


def _damage(recording: RankRecording) -> str | None:
    """What is wrong with the log; None: nothing."""
    try:
        recording.check()
    except DamagedRecording as error:
        return error.message
    return None


def _damaged_images(recording: RankRecording) -> dict[int, str]:
    """Number of a damaged image -> what is wrong with it."""
    found = {}
    for image in recording.images:
        try:
            check_image(recording.path, recording.files_dir, image.number)
        except DamagedRecording as error:
            found[image.number] = error.message
    return found


def write_pack(
    out: Path,
    job: Job,
    recordings: list[RankRecording],
    parts: Iterable[tuple[str, Path | bytes]],
) -> int:
    """Writes a pack, complete or not at all; the number of files in it.

    PARTS: (name, content) of files of the job's directory.  The files that the programs have mapped
    are added.  Raises Unsupported if the file cannot be written.
    """
    part = temporary(out.parent, "rdb-pack")  # short: OUT may have a long name
    try:
        with open(part, "xb", opener=opener) as file:
            count = _write(file, job, recordings, parts)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, out)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "make room, or -o FILE on another disk" if full else ""
        raise Unsupported(f"cannot write {out}: {error.strerror}", hint) from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _write(
    file: BinaryIO,
    job: Job,
    recordings: list[RankRecording],
    parts: Iterable[tuple[str, Path | bytes]],
) -> int:
    files: dict[str, PackedFile] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:

        def add(name: str, source: Path | bytes) -> None:
            if name in files:
                return
            if not allowed(name):
                raise RdbError(f"{name!r}: a pack cannot hold a file of this name")
            files[name] = _add(archive, name, source)

        add("job.json", job.path / "job.json")
        for name, source in parts:
            add(name, source)
        for key in _keys(job, recordings):
            stored = job.path / "files" / key
            if not stored.is_file():
                raise RdbError(f"{stored} is missing: the recording is incomplete")
            check_stored(stored)
            add(f"files/{key}", stored)
            _add_helpers(add, stored)
        info = _info(MANIFEST)
        archive.writestr(info, Manifest(job.name, files).to_json(), compresslevel=1)
    return len(files)


def _keys(job: Job, recordings: list[RankRecording]) -> list[str]:
    """Keys of the stored files that the recordings need; of damaged logs: all keys."""
    if any(_damage(recording) for recording in recordings):
        return sorted(path.name for path in (job.path / "files").iterdir())
    return sorted({key for recording in recordings for key in stored_keys(recording)})


def _add_helpers(add: Adder, stored: Path) -> None:
    """Adds debug information and sources that exist here and have an allowed name."""
    for path in debug_files(stored):
        name = f"{SYMBOLS}/{path.relative_to(DEBUG_FOLDER)}"
        if allowed(name):
            add(name, path)
    for path in source_files(stored):
        name = f"{SOURCES}{os.path.normpath(path)}"
        if allowed(name):
            add(name, path)


def _parts(recording: RankRecording, since: int | None) -> Iterator[tuple[str, Path | bytes]]:
    """(name, content) of the files in a program's directory, from checkpoint SINCE on."""
    first_image, first_segment, head = -1, 0, None
    if since is not None and _damage(recording) is None:
        first_image, first_segment, head = _beginning(recording, since)
    for image in read_images(recording.path):
        if image.number >= first_image:
            yield image.path.name, image.path
    for path in sorted(recording.path.iterdir()):
        segment = _SEGMENT.match(path.name)
        if segment and int(segment[1]) == 0 and head is not None:
            yield path.name, head
        elif _BESIDE.match(path.name) or (
            segment and (int(segment[1]) >= first_segment or int(segment[1]) == 0)
        ):
            yield path.name, path


def _beginning(recording: RankRecording, since: int) -> tuple[int, int, bytes | None]:
    """Numbers of the first image and the first segment to keep, and a new segment 0 (None: none).

    An image depends on the full image of its group, so that one is kept.  A program that never got
    to that checkpoint keeps its newest group.
    """
    damaged = _damaged_images(recording)
    images = [one for one in recording.images if one.number not in damaged]
    if not images:
        return -1, 0, None
    asked = next((one for one in images if one.number >= since), images[-1])
    base = next(one for one in images if one.number == image_base(asked.path)[0])
    _, segment = image_base(base.path)
    if segment == 0:
        return base.number, 0, None
    first = recording.path / "log-000000.seg"
    with first.open("rb") as file:
        header = file.read(_SEGMENT_HEADER_BYTES)
    return base.number, segment, log_head(recording.index, header, base.event)


def image_base(path: Path) -> tuple[int, int]:
    """Number of the full image that this image depends on, and of the log segment after it."""
    with path.open("rb") as file:
        head = file.read(_IMAGE_HEAD.size)
    _, _, _, _, _, segment, base = _IMAGE_HEAD.unpack(head)
    return int(base), int(segment)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _add(archive: zipfile.ZipFile, name: str, source: Path | bytes) -> PackedFile:
    digest = hashlib.sha256()
    size = data = 0
    opened = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with opened, archive.open(_info(name), "w", force_zip64=True) as packed:
        while block := opened.read(BLOCK_BYTES):
            digest.update(block)
            packed.write(block)
            size += len(block)
            data += 0 if ZEROS.startswith(block) else len(block)
    return PackedFile(size, data, digest.hexdigest())
