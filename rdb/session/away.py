"""GDBs that are put away while nobody uses them, when memory is short.

A GDB that is put away writes down what the user has made in it (gdb_scripts/rdb_gdb/away.py); the
one that takes its place when its rank is used again reads that.  Those of ranks in focus stay.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rdb.session.debugger import RankDebugger
from rdb.session.ranks import Rank
from rdb.session.state import RankState

_COST_BYTES = 64 << 20  # of a rank's GDB, server and replicas, without what they share
_LEAST = 8  # so many may always stay
_SPARE = 0.1  # this part of the machine's memory is left to others


def most_gdbs(present: int) -> int:
    """How many GDBs there may be, when there are PRESENT; $RDB_GDBS says it, too."""
    asked = os.environ.get("RDB_GDBS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    values = {}
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0]) << 10
    spare = values["MemAvailable"] - _SPARE * values["MemTotal"]
    return max(_LEAST, present + int(spare // _COST_BYTES))


@dataclass(frozen=True)
class _Left:
    state: RankState
    file: Path
    values: int
    """`$1`, `$2`, ...: these are lost."""


class Away:
    """Ranks whose GDBs were put away, and where they stand."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._left: dict[Rank, _Left] = {}
        self._used: dict[Rank, int] = {}
        self._uses = 0

    @property
    def states(self) -> dict[Rank, RankState]:
        return {rank: left.state for rank, left in self._left.items()}

    def used(self, ranks: Iterable[Rank]) -> None:
        """They are in focus now."""
        self._uses += 1
        self._used.update(dict.fromkeys(ranks, self._uses))

    def idle(self, ranks: Iterable[Rank]) -> list[Rank]:
        """The ones that have not been in focus for longest first."""
        return sorted(ranks, key=lambda rank: (self._used.get(rank, 0), rank))

    async def put(self, debugger: RankDebugger) -> bool:
        """False: something was made there that cannot be written down, so it stays."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="rdb-")
        file = Path(self._folder.name) / f"rank-{debugger.rank}"
        answer = await debugger.gdb.execute(f"rdb-leave {shlex.quote(str(file))}")
        if answer.error is not None:
            return False
        values = int(answer.text.split()[-1])
        self._left[debugger.rank] = _Left(debugger.state, file, values)
        await debugger.close()
        return True

    async def back(self, debugger: RankDebugger) -> str | None:
        """Gives a GDB what its rank's had; what was lost, in words."""
        left = self._left.pop(debugger.rank, None)
        if left is None:
            return None
        answer = await debugger.gdb.execute(f"rdb-return {shlex.quote(str(left.file))}")
        left.file.unlink(missing_ok=True)
        await debugger.refresh()
        lost = [answer.error or ""] if answer.error is not None else answer.text.splitlines()
        if left.values:
            lost.append(f"its values $1 to ${left.values} are gone")
        return "; ".join(line for line in lost if line) or None

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
