"""Processes of a tree that have asked for the orphans below them (PR_SET_CHILD_SUBREAPER)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rdb.live.tree.processes import NOT_YET, Node, Tree

_PRCTL, _SUBREAPER = 157, 36
_ASKED = struct.Struct("<?7xQ")  # the first of interposer/restart/attributes.c


def reapers_refused(
    tree: Tree, places: Mapping[Node, int], lives: Sequence[Node], ended: Sequence[Node]
) -> Iterator[tuple[Node, str]]:
    """What a restart cannot make again: orphans of one that has asked only later, and those that
    have ended and that it has not waited for."""
    asked = {node: place for node in lives if (place := _asked(node, places[node])) is not None}
    for orphan in (*lives, *ended):
        if orphan.parent is None or orphan.parent in lives:
            continue
        line = [orphan]
        while line[-1].parent is not None:
            line.append(line[-1].parent)
        for child, reaper in pairwise(line[1:]):
            if reaper not in asked:
                continue
            if not child.born and child.forked < asked[reaper]:
                yield (
                    reaper,
                    "processes have outlived their parents, and it had asked for those "
                    f"(PR_SET_CHILD_SUBREAPER) only after process {child.name} was started",
                )
            by, where = tree.reaped.get(orphan, (None, NOT_YET))
            if orphan in ended and (by is not reaper or where > places[reaper]):
                yield (
                    reaper,
                    f"process {orphan.name} has outlived its parent and has ended, and waits for "
                    "it (PR_SET_CHILD_SUBREAPER)",
                )
            break


def _asked(node: Node, until: int) -> int | None:
    """Where; None: it has not, or not any more."""
    found = None
    try:
        asked, value = _ASKED.unpack_from((node.programs[0].path / "attributes").read_bytes())
    except FileNotFoundError:
        asked = value = 0
    if asked and value:
        found = NOT_YET
    for number, program in enumerate(node.programs):
        for at in program.index.of_calls(_PRCTL):
            record = program.index.record(at)
            where = node.place(number, record.event)
            if where <= until and record.args[0] == _SUBREAPER and not record.result:
                found = where if record.args[1] else None
    return found
