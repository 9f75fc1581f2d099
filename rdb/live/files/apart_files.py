"""Places the copies of files of a branch on hosts that share no disk, where their ranks run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rdb.errors import Unsupported
from rdb.launch.hosts import Placed, folded
from rdb.recording.ranges import format_ranks


def homes(
    users: Mapping[str, Collection[int]], placed: Sequence[Placed], apart: Collection[str]
) -> dict[str, str]:
    """The host of each file whose ranks do not see the branch's directory here.

    USERS: the ranks that open each file. Unsupported: these ranks are on several hosts.
    """
    hosts = [one.name for one in placed for _ in range(one.ranks)]
    found = {}
    for path, ranks in sorted(users.items()):
        names = list(dict.fromkeys(hosts[rank] for rank in sorted(ranks)))
        if set(names).isdisjoint(apart):
            continue
        if len(names) > 1:
            raise Unsupported(
                f"{path}: ranks {format_ranks(ranks)} use it, but {folded(names)} have no common "
                "file system",
                "put these ranks on one host, or set RDB_HOME to a directory that all hosts see",
            )
        found[path] = names[0]
    return found
