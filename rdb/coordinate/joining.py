"""Jobs that run without a recording (--record=off), with checkpoints when somebody asks.

Imports little: every rank does it at its start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

# How many ranks the launcher has put on this host.
_LOCAL = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
_NODES = "SLURM_STEP_NUM_NODES"
APART = "apart"
"""In the directory of a job whose hosts do not all see it: who speaks for all ranks, is he here?"""
CENTRE, NO_CENTRE = "centre\n", "elsewhere\n"
ADDRESS = "relay.json"
"""In a job's directory: where the centre listens."""


def several_hosts(env: Mapping[str, str], nranks: int) -> bool:
    """Are there ranks of this launch on other hosts?"""
    for name in _LOCAL:
        if env.get(name, "").isdigit():
            return int(env[name]) < nranks
    nodes = env.get(_NODES, "")
    return nodes.isdigit() and int(nodes) > 1


def centre_address(job: Path) -> dict[str, Any] | None:
    """Where the centre of a job listens; None: it has none (all its ranks are on one host)."""
    import json

    try:
        return dict(json.loads((job / ADDRESS).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return None


def checkpoints_options(job: str, rank: int, nranks: int, several: bool = False) -> list[str]:
    """What rdb-exec is told of the board by which its ranks agree (interposer/restart/board.h).

    SEVERAL hosts have a board each, and somebody who speaks for it.
    """
    name = "board"
    if several or os.path.exists(os.path.join(job, APART)):
        name = f"board-{os.uname().nodename}"
        _start_relay(job, name, nranks)
    return [
        "--record=checkpoints",
        *("--board", os.path.join(job, name)),
        *("--ranks", str(nranks)),
        *("--board-rank", str(rank)),
    ]


def _start_relay(job: str, name: str, nranks: int) -> None:
    """By whoever of this host comes first; it is nobody's child, and holds nothing open."""
    import fcntl
    from pathlib import Path

    from rdb.coordinate.board import create_board

    lock = os.open(os.path.join(job, f"relay-{os.uname().nodename}"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return
    create_board(Path(job) / name, nranks)
    parent = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        _hold_nothing(lock)
        from rdb.coordinate.relay import relay

        relay(job, nranks, parent)
    except BaseException as error:
        os.write(lock, f"{error!r}\n".encode())  # who looks why it ended finds it there
        raise
    finally:
        os._exit(0)


def _hold_nothing(but: int) -> None:
    """The launcher waits for whoever has its pipes."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, but)
    os.closerange(but + 1, os.sysconf("SC_OPEN_MAX"))


def checkpoints_of(job: str) -> list[int]:
    """Numbers of those that all ranks have finished."""
    prefix = "commit-"
    names = [name for name in os.listdir(job) if name.startswith(prefix)]
    return sorted(int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdigit())
