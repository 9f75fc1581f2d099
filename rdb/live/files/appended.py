"""Files that several processes have opened separately and append to, such as logs.

The content of such a file at the cut is the beginning of its later content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rdb.live.files.files_before import Change, changes_of
from rdb.live.files.files_held import CALLS, INTO, WRITES, Opening, follow_number, held_by
from rdb.live.tree.processes import Node, Tree, begun_ns

_CUTS = (77, 285)  # ftruncate, fallocate
_PWRITES = (18, 296, 328)


@dataclass(frozen=True, slots=True)
class _Doing:
    """A write; without a size, the opening itself or a truncation."""

    node: Node
    place: int
    at_ns: int
    opening: Opening
    size_bytes: int | None
    appends: bool
    before: bool
    """Whether it was before the cut."""


@dataclass(slots=True)
class Appended:
    sizes: dict[str, int] = field(default_factory=dict)
    """Path -> size at the cut, in bytes."""
    unknown: set[str] = field(default_factory=set)
    """Paths that several processes wrote to, not only by appending."""


def appended(tree: Tree, places: Mapping[Node, int]) -> Appended:
    """The appended files of TREE; PLACES: each process's place at the cut."""
    found = Appended()
    opens: dict[Opening, Change] = {}
    doings: dict[str, list[_Doing]] = {}
    for node in tree.nodes:
        for one in _doings(node, places.get(node, -1), opens):
            doings.setdefault(one.opening.path, []).append(one)
    held: dict[str, set[Opening]] = {}
    for node in tree.nodes:
        place = places.get(node, -1)
        if 0 <= place < node.over:
            for opening in held_by(node, place).values():
                held.setdefault(opening.path, set()).add(opening)
    for path, openings in held.items():
        _add(found, path, openings, doings.get(path, []), opens)
    return found


def _add(
    found: Appended,
    path: str,
    openings: set[Opening],
    doings: list[_Doing],
    opens: Mapping[Opening, Change],
) -> None:
    doings.sort(key=lambda one: one.at_ns)
    first = next((k for k, one in enumerate(doings) if one.opening in openings), None)
    if first is None:
        return
    since = doings[first + 1 :]
    writes = [one for one in since if one.before and one.size_bytes is not None]
    cuts = [
        one
        for one in since
        if one.before and one.size_bytes is None and opens[one.opening].flags & os.O_TRUNC
    ]
    if not cuts and len({one.opening for one in writes} | openings) == 1:
        return
    if not cuts and not writes:
        return
    last_ns = max(one.at_ns for one in (*writes, *cuts))
    later = [one for one in since if not one.before and one.size_bytes is not None]
    disorder = any(begun_ns(one.node, one.place) < last_ns for one in later)
    if cuts or disorder or not all(one.appends for one in writes):
        found.unknown.add(path)
        return
    change = opens[doings[first].opening]
    size = 0 if change.flags & os.O_TRUNC else change.size_bytes
    found.sizes[path] = size + sum(one.size_bytes or 0 for one in writes)


def _doings(node: Node, until: int, opens: dict[Opening, Change]) -> Iterator[_Doing]:
    numbers = held_by(node.parent, node.forked) if node.parent is not None else {}
    for k, program in enumerate(node.programs):
        paths = {
            one.event: (Opening(one.path, str(program.path), one.event), one)
            for one in changes_of(program, 0)
            if one.opens
        }
        opens.update(paths.values())
        index = program.index
        for at in index.of_calls(*CALLS, *WRITES, *_CUTS):
            record = index.record(at)
            if record.result < 0:
                continue
            where = node.place(k, record.event)
            if record.nr not in (*WRITES, *_CUTS):
                opening, _ = paths.get(record.event, (None, None))
                follow_number(numbers, record, opening)
                if opening is not None:
                    yield _Doing(node, where, record.at_ns, opening, None, False, where <= until)
                continue
            held = numbers.get(record.args[INTO.get(record.nr, 0)])
            if held is not None and held in opens:
                appends = bool(opens[held].flags & os.O_APPEND)
                appends &= record.nr not in (*_CUTS, *_PWRITES)
                size = record.result * (record.repeat + 1)
                yield _Doing(node, where, record.at_ns, held, size, appends, where <= until)
