"""The checkpoints of one rank whose images are complete."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, VersionMismatch
from rdb.paths import rdb_exec_path
from rdb.recording.log.record import Record

_HEAD = struct.Struct("<QIIQ")  # struct image_header begins with magic, version, number, event
_IMAGE = re.compile(r"ckpt-(\d{6,})\.img\Z")


class Checkpoint(NamedTuple):
    number: int
    event: int
    at_ns: int  # CLOCK_REALTIME
    size_bytes: int  # on disk, without what it shares with earlier images
    path: Path
    stop_ns: int = 0  # how long the program was stopped


def image_path(directory: Path, number: int) -> Path:
    return directory / f"ckpt-{number:06}.img"


def has_image(directory: Path) -> bool:
    """Did the program get as far as event 0, where the first image is taken?"""
    return any(_IMAGE.match(entry.name) for entry in directory.glob("ckpt-*.img"))


def read_images(directory: Path) -> Iterator[Checkpoint]:
    """The images of a rank in order, from their headers; other files are skipped.

    `at_ns` is 0.  Raises DamagedRecording for an image that cannot be read.
    """
    for path in sorted(directory.glob("ckpt-*.img")):
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD.size)
            size = path.stat().st_blocks * 512
        except FileNotFoundError:  # a running job has dropped it
            continue
        except OSError as error:
            raise DamagedRecording(f"{path}: {error.strerror}") from error
        if _IMAGE.match(path.name) and len(head) == _HEAD.size:
            _, _, number, event = _HEAD.unpack(head)
            yield Checkpoint(number, event, 0, size, path)


def checkpoint(directory: Path, record: Record) -> Checkpoint | None:
    """The checkpoint of a CHECKPOINT record; None: its image was not finished or was dropped."""
    path = image_path(directory, record.nr)
    try:
        size = path.stat().st_blocks * 512
    except FileNotFoundError:
        return None
    return Checkpoint(record.nr, record.event, record.at_ns, size, path, record.result)


def check_image(directory: Path, files_dir: Path, number: int, state: bool = False) -> None:
    """Checks an image and those that it depends on.  Raises DamagedRecording or VersionMismatch.

    STATE: the image is of a job without a log, so the files beside it are checked, too.
    """
    import subprocess  # late import: few commands check images

    line = [str(rdb_exec_path()), "--replay", str(directory), "--files", str(files_dir)]
    line += ["--checkpoint", str(number), "--only-check", *(["--from-image"] if state else [])]
    env = for_rdb_exec(os.environ)
    done = subprocess.run(line, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode == 0:
        return
    told = done.stderr.decode(errors="replace").strip().splitlines()
    said = told[-1] if told else f"{directory}: checkpoint {number}: exit {done.returncode}"
    other_version = done.returncode == VersionMismatch.exit_code
    raise (VersionMismatch if other_version else DamagedRecording)(said.removeprefix("rdb: "))
