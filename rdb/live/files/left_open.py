"""Descriptors that an earlier program of a process has left open (execve(2))."""

from __future__ import annotations

from collections.abc import Iterator

from rdb.live.files.files_held import Opening, held, held_by
from rdb.live.tree.open_files import follow
from rdb.live.tree.processes import Node, folders_before
from rdb.recording import RankRecording


def left_open(top: RankRecording, event: int) -> Iterator[str]:
    """A line for each of them that TOP, the process's last program, has open at EVENT.

    A restart replays the last program alone, and cannot open them again.
    """
    earlier = [RankRecording(one, top.files_dir, top.name) for one in folders_before(top.path)]
    earlier.reverse()
    if not earlier:
        return
    node = Node(0, top.name, [*earlier, top])
    begins = node.place(len(earlier), 0)
    paths = held_by(Node(0, top.name, earlier), begins)
    begun = {
        number: Opening(paths[number].path if number in paths else "", "", 0)
        for number in follow(node, {node: begins}).numbers[node]
    }
    for number, opening in sorted(held([(top, event)], begun).items()):
        if not opening.program:
            yield (
                f"rank {top.name}: descriptor {number}{opening.path and f' ({opening.path})'} was "
                "opened by an earlier program of the process: in the branch it is "
                + ("that of rdb restart" if number <= 2 else "closed")
            )
