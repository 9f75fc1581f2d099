"""Copies recordings between this host and hosts that share no file system with it.

A copied file has the same place in the job's directory here as there, so all readers of recordings
work on it. A file that has not changed since the last copy is skipped.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from rdb.agents.parts import CHUNK_BYTES, shared
from rdb.agents.starting import Agents
from rdb.errors import RdbError
from rdb.private import make_directories, opener
from rdb.recording import Job
from rdb.recording.log.segments import grow_segment
from rdb.temporary import temporary
from rdb.undoing import on_failure
from rdb.wire.channel import Message

_AT_ONCE = CHUNK_BYTES


async def apart(agents: Agents) -> list[str]:
    """The hosts on which the job's directory is not this host's directory.

    The test is a file with a random name: a host that does not see it has a directory of its own.
    """
    token = secrets.token_hex(16)
    path = Path(agents.job) / shared(token)
    with open(path, "x", opener=opener):
        pass
    try:
        answers = await agents.all({"op": "shared", "token": token})
    finally:
        path.unlink(missing_ok=True)
    return [host for host, one in answers.items() if one.get("shared") is False]


File = tuple[str, int, int]
"""Name, size and time of the last change."""


async def fetch(agents: Agents, hosts: Collection[str], ranks: Collection[int] | None) -> int:
    """Copies the files of RANKS (None: all) from HOSTS; returns the number of files copied.

    What a host has of a rank that ran elsewhere may be an earlier copy, and is not taken.
    """
    answers = await agents.all({"op": "ranks"})
    own = {
        host: {int(one["rank"]) for one in answer.get("ranks", ())}
        for host, answer in answers.items()
    }
    known = _own_ranks(Path(agents.job)).union(*own.values())
    count = 0
    for host in hosts:
        others = known - own[host]
        wanted = [one for one in await listed(agents, host) if _wanted(one[0], ranks, others)]
        count += await fetch_files(agents, host, wanted)
    return count


def _own_ranks(path: Path) -> set[int]:
    """Ranks that ran on this host."""
    job, own = Job(path), set()
    for rank in job.ranks:
        with suppress(RdbError):  # of a damaged one it is not known
            if job.process(rank).of_this_host:
                own.add(rank)
    return own


async def listed(agents: Agents, host: str) -> list[File]:
    """The files of the job that HOST has."""
    answer, _ = await agents.one(host, {"op": "list"})
    return [(str(name), int(size), int(mtime_ns)) for name, size, mtime_ns in answer["files"]]


async def fetch_files(agents: Agents, host: str, files: Collection[File]) -> int:
    # A rank cannot be opened without its stored files, so these come first. An image gets its name
    # only when it is complete.
    first = sorted(files, key=lambda one: not one[0].startswith("files/"))
    return sum([await _fetch_file(agents, host, *one) for one in first])


def _wanted(name: str, ranks: Collection[int] | None, others: Collection[int]) -> bool:
    first = name.partition("/")[0]
    if not first.startswith("rank-"):
        return first == "files"
    rank = int(first.removeprefix("rank-"))
    return rank not in others and (ranks is None or rank in ranks)


async def _fetch_file(agents: Agents, host: str, name: str, size: int, mtime_ns: int) -> int:
    path = Path(agents.job) / name
    try:
        seen = path.lstat()
        # A rank writes its log through a mapping, which need not change the modification time.
        if (seen.st_size, seen.st_mtime_ns) == (size, mtime_ns) and not name.endswith(".seg"):
            return 0
    except FileNotFoundError:
        make_directories(str(path.parent))
    target = temporary(path.parent, path.name)
    with on_failure(lambda: target.unlink(missing_ok=True)):
        with open(target, "xb", opener=opener) as file:
            if name.endswith(".seg"):
                await _read_segment(agents, host, name, file.fileno())
            else:
                await _read(agents, host, name, file.fileno())
        if name.endswith(".seg") and path.exists():
            grow_segment(path, target)
            target.unlink()
        else:
            os.utime(target, ns=(mtime_ns, mtime_ns))
            os.rename(target, path)
    return 1


async def _read(agents: Agents, host: str, name: str, descriptor: int) -> None:
    offset = 0
    while True:
        answer, piece = await agents.one(host, {"op": "read", "name": name, "offset": offset})
        _write(descriptor, piece, offset)
        offset += int(answer["bytes"])
        if not answer["bytes"] or offset >= int(answer["size"]):
            break
    os.ftruncate(descriptor, offset)


async def _read_segment(agents: Agents, host: str, name: str, descriptor: int) -> None:
    """Reads a log segment, and zeroes the part that the rank wrote during the transfer."""
    end, _ = await agents.one(host, {"op": "segment-end", "name": name})
    await _read(agents, host, name, descriptor)
    later, _ = await agents.one(host, {"op": "segment-end", "name": name})
    if later["end"] != end["end"]:
        size = os.fstat(descriptor).st_size
        os.ftruncate(descriptor, int(end["end"]))
        os.ftruncate(descriptor, size)


def _write(descriptor: int, piece: bytes, offset: int) -> None:
    while piece:
        done = os.pwrite(descriptor, piece, offset)
        piece, offset = piece[done:], offset + done


async def prepare(
    agents: Agents, hosts: Collection[str], message: Message, centre_here: bool
) -> None:
    """Makes a directory for the job on each of HOSTS; hosts that share one get one.

    CENTRE_HERE: the rank that speaks for all ranks of a job without a log is on none of HOSTS. If
    false, that rank is among those of the first directory.
    """
    told = {"op": "prepare", "token": secrets.token_hex(16), **message}
    for number, host in enumerate(hosts):
        await agents.one(host, {**told, "centre": not number and not centre_here})


async def put_copy(agents: Agents, host: str, path: Path) -> None:
    """Sends a file that the branch has copied here to HOST, whose ranks write to it."""
    name = path.relative_to(agents.job).as_posix()
    with path.open("rb") as file:
        offset = 0
        while (piece := file.read(_AT_ONCE)) or not offset:
            await agents.one(host, {"op": "copy", "name": name, "offset": offset}, piece)
            offset += len(piece)
            if not piece:
                return


async def put_pack(agents: Agents, host: str, pack: Path, sha256: str) -> str:
    """Sends PACK to HOST and unpacks it there; returns the path of the unpacked job.

    SHA256: hexadecimal digest of PACK. RdbError: the agent did not unpack it.
    """
    with pack.open("rb") as file:
        offset = 0
        while piece := file.read(_AT_ONCE):
            await agents.one(host, {"op": "pack", "sha256": sha256, "offset": offset}, piece)
            offset += len(piece)
    answer, _ = await agents.one(host, {"op": "unpack", "sha256": sha256})
    if not isinstance(answer.get("path"), str):
        raise RdbError(f"{host}: the agent did not unpack {pack.name}")
    return str(answer["path"])
