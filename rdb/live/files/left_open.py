"""Descriptors that an earlier program of a process has left open (execve(2))."""

from __future__ import annotations

from rdb.live.tree.open_files import follow
from rdb.live.tree.processes import Node, folders_before
from rdb.recording import RankRecording


def earlier_openers(top: RankRecording, event: int) -> list[RankRecording]:
    """The programs that the process ran before TOP, oldest first, if TOP has at EVENT what one of
    them opened; else none.
    """
    earlier = [RankRecording(one, top.files_dir, top.name) for one in folders_before(top.path)]
    earlier.reverse()
    node, last = Node(0, top.name, [*earlier, top]), len(earlier)

    def held(at: int) -> set[object]:
        place = node.place(last, at)
        return set(follow(node, {node: place}).numbers[node].values())

    return earlier if earlier and held(0) & held(event) else []
