"""How much memory this process and its children may still take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Controllers in /proc/self/cgroup -> folder, limit, usage, and the part of it that is given back
# at need: version 2 and version 1 (Linux, admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
_VERSIONS = {
    "": ("", ("memory.max", "memory.current"), "inactive_file"),
    "memory": (
        "memory",
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        "total_inactive_file",
    ),
}


class Memory(NamedTuple):
    """In bytes."""

    available: int
    total: int


def memory(root: Path = Path("/")) -> Memory:
    """What the machine has (proc(5), /proc/meminfo), or less where a cgroup limits this process."""
    machine = _words(root / "proc/meminfo")
    least = Memory(machine["MemAvailable:"] << 10, machine["MemTotal:"] << 10)
    return min((least, *_limits(root)))


def _limits(root: Path) -> Iterator[Memory]:
    """The limits of the process's cgroups and of those above them."""
    try:
        cgroups = (root / "proc/self/cgroup").read_text()
    except OSError:  # a kernel without cgroups
        return
    for line in cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        for one in controllers.split(","):
            if one not in _VERSIONS:
                continue
            folder, names, cache = _VERSIONS[one]
            top = root / "sys/fs/cgroup" / folder
            own = top / path.lstrip("/")
            for at in (own, *own.parents[: len(own.parents) - len(top.parents)]):
                try:
                    most, used = (int((at / name).read_text()) for name in names)
                    used -= _words(at / "memory.stat").get(cache, 0)
                except (OSError, ValueError):
                    continue  # no limit here ("max"), or not seen from here
                yield Memory(max(most - used, 0), most)


def _words(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines}
