"""Host files: names of hosts, and how many ranks each may have.

A line is `NAME`, `NAME slots=4` (Open MPI) or `NAME:4` (MPICH); NAME may stand for several hosts:
`node[1-4]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rdb.errors import Usage

_LINE = re.compile(r"(?P<names>[^\s:=]+)(?::(?P<count>\d+))?(?P<more>(?:\s+[\w-]+=\S+)*)\Z")
_BRACKETS = re.compile(r"\[([^]]*)\]")
_MOST = 1 << 16  # most hosts that a name may stand for
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*\Z")  # neither an option nor special in a shell


class Host(NamedTuple):
    name: str
    slots: int | None
    """Most ranks on the host; None: no limit."""


class Placed(NamedTuple):
    name: str
    ranks: int


def read_hosts(path: str) -> list[Host]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise Usage(f"--hosts {path}: {reason}", "write a line per host: NAME slots=4") from error
    hosts: list[Host] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if words:
            hosts += _of_line(f"{path}:{number}", words)
    if not hosts:
        raise Usage(f"--hosts {path}: it names no host", "write a line per host: NAME slots=4")
    return hosts


def expand(names: str) -> list[str]:
    """The hosts that NAMES, such as `node[1-3,7]`, stands for.  Usage: not valid names."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # late import: it costs 60 ms

    many = math.prod(sum(map(_size, one.split(","))) for one in _BRACKETS.findall(names))
    if many > _MOST:
        raise Usage(f"{names!r} stands for {many} hosts; at most {_MOST} are allowed")
    try:
        found = [str(name) for name in NodeSet(names)]
    except NodeSetException as error:
        raise Usage(f"{names!r} names no hosts: {error}") from error
    for name in found:
        if not _NAME.match(name):
            raise Usage(f"{name!r} cannot be a host's name")
    return found


def folded(names: Sequence[str]) -> str:
    """A short form for people: `node[1-3]`."""
    from ClusterShell.NodeSet import NodeSet

    return str(NodeSet.fromlist(list(names)))


def place(hosts: Sequence[Host], ranks: int, what: str) -> list[Placed]:
    """Places ranks in order: each host is filled before the next; hosts without a count share the
    rest.
    """
    room = sum(one.slots or 0 for one in hosts)
    open_ended = sum(one.slots is None for one in hosts)
    if room < ranks and not open_ended:
        raise Usage(
            f"{what}: {_many(len(hosts), 'host')} with room for {_many(room, 'rank')}, "
            f"the job has {ranks}",
            "name more hosts, or give them more slots",
        )
    each, more = divmod(max(ranks - room, 0), open_ended) if open_ended else (0, 0)
    left, found = ranks, []
    for one in hosts:
        wanted = one.slots
        if wanted is None:
            wanted, more = each + (more > 0), more - 1
        count = min(wanted, left)
        if count:
            found.append(Placed(one.name, count))
        left -= count
    return found


def _size(part: str) -> int:
    """The number of hosts in `7` or `1-3`, found before the list is made."""
    ends = part.partition("/")[0].split("-")
    if len(ends) == 2 and all(end.strip().isdecimal() for end in ends):
        return max(int(ends[1]) - int(ends[0]) + 1, 0)
    return 1


def _of_line(where: str, words: str) -> list[Host]:
    match = _LINE.match(re.sub(r"\s*=\s*", "=", words))
    if match is None:
        raise Usage(
            f"{where}: {words!r} is not a host's name", "write NAME, NAME slots=4 or NAME:4"
        )
    said = dict(word.split("=", 1) for word in match["more"].split())
    count = match["count"] or said.get("slots")
    if count is not None and not (count.isascii() and count.isdecimal()):
        raise Usage(f"{where}: slots={count}: not a number of ranks", "write slots=4")
    if count is not None and int(count) == 0:
        raise Usage(f"{where}: a host with 0 slots", "remove the line")
    return [Host(name, int(count) if count else None) for name in expand(match["names"])]


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
