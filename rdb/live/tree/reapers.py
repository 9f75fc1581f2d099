"""Processes of a tree that have asked for orphans below them (PR_SET_CHILD_SUBREAPER, prctl(2))."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rdb.live.tree.processes import NOT_YET, Node, Tree

_PRCTL, _SUBREAPER = 157, 36
# first member of the file (interposer/restart/process/attributes.c)
_ASKED = struct.Struct("<?7xQ")


def reapers_refused(
    tree: Tree, places: Mapping[Node, int], lives: Sequence[Node], ended: Sequence[Node]
) -> Iterator[tuple[Node, str]]:
    """Processes that have asked for orphans and cannot be restarted, each with the reason.

    Either one asked only after its child, an ancestor of the orphan, was started, or the orphan has
    ended and was not waited for.
    """
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
                    "it adopted processes whose parents had ended, but called prctl("
                    f"PR_SET_CHILD_SUBREAPER) only after process {child.name} was started",
                )
            by, where = tree.reaped.get(orphan, (None, NOT_YET))
            if orphan in ended and (by is not reaper or where > places[reaper]):
                yield (
                    reaper,
                    f"it adopted process {orphan.name} (PR_SET_CHILD_SUBREAPER), which has ended, "
                    "and has not waited for it yet",
                )
            break


def _asked(node: Node, until: int) -> int | None:
    """The place at which NODE asked for orphans; None: never, or it has withdrawn that."""
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
