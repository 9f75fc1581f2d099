"""What the directory of a job without a log says: the centre's address, finished checkpoints.

Imports little, as joining.py does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

APART = "apart"
"""File in the directory of a job whose hosts do not all see it: whether the centre may be here."""
CENTRE, NO_CENTRE = "centre\n", "elsewhere\n"
ADDRESS = "relay.json"
"""File in a job's directory: where the centre listens."""
_LOOK_S, _RELAY_S = 0.005, 10.0


def is_apart(job: Path) -> bool:
    """Whether hosts of the job have their parts of it on disks of their own."""
    return (job / APART).exists()


def centre_address(job: Path) -> dict[str, Any] | None:
    """Address of the job's centre; None: it has none, as all ranks are on one host."""
    import json

    try:
        return dict(json.loads((job / ADDRESS).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return None


def finish_checkpoint(job: str) -> None:
    """Waits for a checkpoint that processes of this host still write, of a job that has ended.

    Also waits a little for the relay, which makes it valid if the job has several hosts.
    """
    own = {"board", f"board-{os.uname().nodename}"}.intersection(os.listdir(job))
    if not own:
        return
    import time
    from pathlib import Path

    from rdb.coordinate.board import Board, Verdict, Writing
    from rdb.process_stat import process_stat

    board = Board(Path(job, own.pop()))
    writing, until_s = Writing(board), None
    while board.verdict(board.wanted) is Verdict.GO and board.busy():
        if not writing.goes_on():
            until_s = until_s or time.monotonic() + _RELAY_S
            if process_stat(board.relay) is None or time.monotonic() > until_s:
                return
        time.sleep(_LOOK_S)


def checkpoints_of(job: str) -> list[int]:
    """Numbers of the checkpoints that all ranks have finished."""
    prefix = "commit-"
    names = [name for name in os.listdir(job) if name.startswith(prefix)]
    return sorted(int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdigit())
