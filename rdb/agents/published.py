"""Files in the job's directory by which ranks tell each other things; agents copy them.

At a restart: the new numbers of queue pairs, and the addresses of sockets. Without a recording: the
address of the rank that speaks for all. A file appears complete (by rename) and does not change.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Collection
from pathlib import Path

from rdb.errors import Usage
from rdb.private import opener
from rdb.temporary import temporary
from rdb.wire.peer import Answer

_NAME = re.compile(r"(?:(?:sockets|doors|verbs(?:-(?:reads|connected|ready))?)-\d+|relay\.json)\Z")
_LOOK_S = 0.01
_PATIENCE_S = 5.0  # of one question; the asker repeats it


async def news(job: Path, known: Collection[str]) -> dict[str, bytes]:
    """Files whose names are not in KNOWN; waits up to _PATIENCE_S for one, then returns {}."""
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        found = _found(job, known)
        if found or time.monotonic() > until_s:
            return found
        await asyncio.sleep(_LOOK_S)


def _found(job: Path, known: Collection[str]) -> dict[str, bytes]:
    try:
        names = os.listdir(job)
    except FileNotFoundError:  # the job has been removed
        return {}
    found = {}
    for name in names:
        if _NAME.match(name) and name not in known:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(job / name, flags), "rb") as file:
                found[name] = file.read()
    return found


def put(job: Path, name: str, data: bytes) -> None:
    """Writes a file under a temporary name and renames it."""
    if not _NAME.match(name):
        raise Usage(f"agent: {name!r} is not a file that ranks share")
    own = temporary(job, name)
    with open(own, "wb", opener=opener) as file:
        file.write(data)
    os.rename(own, job / name)


def packed(files: dict[str, bytes]) -> Answer:
    return {"files": [[name, len(data)] for name, data in files.items()]}, b"".join(files.values())


def unpacked(answer: Answer) -> dict[str, bytes]:
    message, data = answer
    found, at = {}, 0
    for name, size in message["files"]:
        found[str(name)] = data[at : at + size]
        at += size
    return found
