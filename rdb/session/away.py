"""GDBs of ranks out of focus, which are ended when memory is short ("put away").

Before it ends, such a GDB writes what the user has made in it to a file
(gdb_scripts/rdb_gdb/commands/away.py).  The GDB that is started when the rank is used again reads
it.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rdb.memory import memory
from rdb.session.debugger import RankDebugger
from rdb.session.ranks import Rank
from rdb.session.state import RankState

_COST_BYTES = 64 << 20  # memory of a rank's GDB, server and replicas, without shared pages
_LEAST = 8  # GDBs that may always stay
_SPARE = 0.1  # share of the machine's memory that is left to others


def most_gdbs(present: int) -> int:
    """How many GDBs there may be if there are PRESENT: $RDB_GDBS, else by free memory."""
    asked = os.environ.get("RDB_GDBS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    now = memory()
    spare = now.available - _SPARE * now.total
    return max(_LEAST, present + int(spare // _COST_BYTES))


class _Left(NamedTuple):
    state: RankState
    file: Path
    values: int
    """Number of values in the value history (`$1`, `$2`, ...), which are lost."""


class Away:
    """The ranks whose GDBs were put away, with their states."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._left: dict[Rank, _Left] = {}
        self._used: dict[Rank, int] = {}
        self._uses = 0

    @property
    def states(self) -> dict[Rank, RankState]:
        return {rank: left.state for rank, left in self._left.items()}

    def used(self, ranks: Iterable[Rank]) -> None:
        """Takes note that these ranks are in focus."""
        self._uses += 1
        self._used.update(dict.fromkeys(ranks, self._uses))

    def idle(self, ranks: Iterable[Rank]) -> list[Rank]:
        """RANKS, those first that have been out of focus for longest."""
        return sorted(ranks, key=lambda rank: (self._used.get(rank, 0), rank))

    async def put(self, debugger: RankDebugger) -> bool:
        """Writes what a GDB has, which the caller then ends; False: it has state that cannot be
        written to a file, so it stays."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="rdb-")
        file = Path(self._folder.name) / f"rank-{debugger.rank}"
        answer = await debugger.gdb.execute(f"rdb-leave {shlex.quote(str(file))}")
        if answer.error is not None:
            return False
        values = int(answer.text.split()[-1])
        self._left[debugger.rank] = _Left(debugger.state, file, values)
        return True

    async def back(self, debugger: RankDebugger) -> str | None:
        """Restores what the rank's earlier GDB had; a text with what was lost, or None."""
        left = self._left.get(debugger.rank)
        if left is None:
            return None
        answer = await debugger.gdb.execute(f"rdb-return {shlex.quote(str(left.file))}")
        await debugger.refresh()
        del self._left[debugger.rank]  # not before: if this is cancelled, the next GDB reads it
        left.file.unlink(missing_ok=True)
        lost = [answer.error or ""] if answer.error is not None else answer.text.splitlines()
        if left.values:
            lost.append(f"its values $1 to ${left.values} are lost")
        return "; ".join(line for line in lost if line) or None

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
