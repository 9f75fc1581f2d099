"""Bringing what hosts have recorded that share no file system with this one.

What arrives lies in the job's directory here as it does there, so all that reads recordings works;
what has not changed since is not brought again.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from pathlib import Path

from rdb.agents.parts import CHUNK_BYTES
from rdb.agents.starting import Agents
from rdb.errors import RdbError
from rdb.private import make_directories, opener
from rdb.recording.log.segments import grow_segment
from rdb.wire.channel import Message

_TOKEN = ".shared"
_AT_ONCE = CHUNK_BYTES


async def apart(agents: Agents) -> list[str]:
    """The hosts that do not see the job's directory of this one."""
    token = secrets.token_hex(16)
    path = Path(agents.job) / _TOKEN
    with open(path, "w", encoding="ascii", opener=opener) as file:
        file.write(token)
    try:
        answers = await agents.all({"op": "shared", "token": token})
    finally:
        path.unlink(missing_ok=True)
    return [host for host, one in answers.items() if one.get("shared") is False]


File = tuple[str, int, int]
"""Name, size and time of the last change."""


async def fetch(agents: Agents, hosts: Collection[str], ranks: Collection[int] | None) -> int:
    """Brings RANKS, or all, from these hosts; how many files it were."""
    count = 0
    for host in hosts:
        wanted = [one for one in await listed(agents, host) if _wanted(one[0], ranks)]
        count += await fetch_files(agents, host, wanted)
    return count


async def listed(agents: Agents, host: str) -> list[File]:
    """What that host has of the job."""
    answer, _ = await agents.one(host, {"op": "list"})
    return [(str(name), int(size), int(mtime_ns)) for name, size, mtime_ns in answer["files"]]


async def fetch_files(agents: Agents, host: str, files: Collection[File]) -> int:
    # a rank without its stored files cannot be opened; an image is named when it is whole
    first = sorted(files, key=lambda one: not one[0].startswith("files/"))
    return sum([await _fetch_file(agents, host, *one) for one in first])


def _wanted(name: str, ranks: Collection[int] | None) -> bool:
    first = name.partition("/")[0]
    if not first.startswith("rank-"):
        return first == "files"
    return ranks is None or int(first.removeprefix("rank-")) in ranks


async def _fetch_file(agents: Agents, host: str, name: str, size: int, mtime_ns: int) -> int:
    path = Path(agents.job) / name
    try:
        seen = path.lstat()
        # a log is written through a mapping, which need not change its time
        if (seen.st_size, seen.st_mtime_ns) == (size, mtime_ns) and not name.endswith(".seg"):
            return 0
    except FileNotFoundError:
        make_directories(str(path.parent))
    target = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
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
    except BaseException:
        target.unlink(missing_ok=True)
        raise
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
    """What of it grew while it was read is not whole, and left out."""
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
    """A directory of its own for the job on each of these hosts, or of those that share one.

    CENTRE_HERE: who speaks for all ranks of a job without a log is on none of them; else on those
    of the first directory.
    """
    told = {"op": "prepare", "token": secrets.token_hex(16), **message}
    for number, host in enumerate(hosts):
        await agents.one(host, {**told, "centre": not number and not centre_here})


async def put_copy(agents: Agents, host: str, path: Path) -> None:
    """A copy that a branch has here, for ranks of that host."""
    name = path.relative_to(agents.job).as_posix()
    with path.open("rb") as file:
        offset = 0
        while (piece := file.read(_AT_ONCE)) or not offset:
            await agents.one(host, {"op": "copy", "name": name, "offset": offset}, piece)
            offset += len(piece)
            if not piece:
                return


async def put_pack(agents: Agents, host: str, pack: Path, sha256: str) -> str:
    """The path of the pack's job on that host, unpacked there."""
    with pack.open("rb") as file:
        offset = 0
        while piece := file.read(_AT_ONCE):
            await agents.one(host, {"op": "pack", "sha256": sha256, "offset": offset}, piece)
            offset += len(piece)
    answer, _ = await agents.one(host, {"op": "unpack", "sha256": sha256})
    if not isinstance(answer.get("path"), str):
        raise RdbError(f"{host}: the agent did not unpack {pack.name}")
    return str(answer["path"])
