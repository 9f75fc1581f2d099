"""Which program a restart of a rank begins with."""

from __future__ import annotations

from rdb.live.tree.open_files import follow
from rdb.live.tree.processes import Node, own_programs
from rdb.recording import RankRecording


def begins_with(main: RankRecording, event: int) -> list[RankRecording]:
    """The programs of the rank's own process, oldest first, if a restart of MAIN at EVENT has to
    begin with them: MAIN is a child's program (a script's), or has open what an earlier program of
    its process opened (execve(2)).  Else none.
    """
    programs = own_programs(main)
    if programs[-1].path != main.path:
        return programs
    node = Node(0, main.name, programs)

    def held(at: int) -> set[object]:
        place = node.place(len(programs) - 1, at)
        return set(follow(node, {node: place}).numbers[node].values())

    return programs if len(programs) > 1 and held(0) & held(event) else []
