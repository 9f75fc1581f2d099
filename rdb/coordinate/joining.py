"""How a rank of a job without a log (--record=off) joins the checkpoints of the job.

Imports little: every rank imports it at its start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rdb.coordinate.centre import APART

# Number of ranks on this host, set by the launcher (Open MPI; MPICH).
_LOCAL = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
_NODES = "SLURM_STEP_NUM_NODES"


def several_hosts(env: Mapping[str, str], nranks: int) -> bool:
    """Whether ranks of this launch are on other hosts."""
    for name in _LOCAL:
        if env.get(name, "").isdigit():
            return int(env[name]) < nranks
    nodes = env.get(_NODES, "")
    return nodes.isdigit() and int(nodes) > 1


def checkpoints_options(job: str, rank: int, nranks: int, several: bool = False) -> list[str]:
    """The options of rdb-exec that name the board (restart/checkpoint/board.h).

    SEVERAL: the ranks are on several hosts, so each host has a board and a relay.
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
    """Starts the host's relay, if this rank is the host's first.

    The relay is a daemon: a child of init, with no descriptor of the launcher open.
    """
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
        os.write(lock, f"{error!r}\n".encode())  # the lock file shows why the relay ended
        raise
    finally:
        os._exit(0)


def _hold_nothing(but: int) -> None:
    """Closes all descriptors but BUT: the launcher waits until its pipes are closed."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, but)
    os.closerange(but + 1, os.sysconf("SC_OPEN_MAX"))
