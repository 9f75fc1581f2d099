"""Sets of ranks as users write them: `0,2-3`, `{0..3}`, `all`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rdb.errors import UnknownJob, Usage
from rdb.recording.ranges import format_ranks

__all__ = ["Rank", "format_ranks", "parse_ranks"]

Rank = int

_ITEM = re.compile(r"(\d+)(?:(?:-|\.\.)(\d+))?\Z")


def parse_ranks(
    text: str, known: Sequence[Rank], sets: Mapping[str, Sequence[Rank]] | None = None
) -> tuple[Rank, ...]:
    """The ranks that TEXT names, in ascending order.

    SETS: name -> ranks; TEXT may use these names.  Raises Usage for another syntax, UnknownJob for
    a rank that is not in KNOWN.
    """
    body = text.strip()
    if body in ("all", "*"):
        return tuple(sorted(known))
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1]
    items = body.replace(",", " ").split()
    if not items:
        raise Usage("no ranks given", "write them like 0,2-3 or {0..3} or all")
    named: set[Rank] = set()
    for item in items:
        if sets and item in sets:
            named.update(sets[item])
            continue
        match = _ITEM.match(item)
        if match is None:
            raise Usage(f"{item!r} is not a rank", "write them like 0,2-3 or {0..3} or all")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise Usage(f"the range {item} runs backwards", f"write {last}-{first}")
        if last > max(known, default=-1):
            raise UnknownJob(f"there is no rank {last}", f"ranks are {format_ranks(known)}")
        named.update(range(first, last + 1))
    if not named:
        raise Usage(f"{text.strip()} has no ranks")
    missing = sorted(named - set(known))
    if missing:
        raise UnknownJob(
            f"there is no rank {format_ranks(missing)}", f"ranks are {format_ranks(known)}"
        )
    return tuple(sorted(named))
