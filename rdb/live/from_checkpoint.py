"""Restarts a job without a log, from a checkpoint that all its ranks have finished."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdb.coordinate.coordinated import Together
from rdb.errors import DamagedRecording, RdbError
from rdb.launch.newjob import writing
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.rank import write_plan
from rdb.private import opener
from rdb.recording import Job, RankRecording
from rdb.undoing import on_failure

_HEAD = struct.Struct("<QIIQQ")  # struct state_head, as far as its sockets
_MAGIC = 0x657461746262646C


def plan_lines(job: Job, one: Together) -> list[str]:
    return [
        f"rank {rank}: goes on from checkpoint {one.number} ({job.rank(rank).path}), at once"
        for rank in range(one.nranks)
    ]


def needs_launcher(job: Job, one: Together) -> bool:
    return one.nranks > 1 or job.meta.get("launcher") != "none"


def prepare(
    job: Job,
    one: Together,
    name: str | None,
    in_place: bool,
    record: bool,
    common: list[str],
    mpi: str | None,
    launcher: str,
    hosts: Sequence[str] = (),
) -> str:
    """Makes the branch and writes its plan; returns the branch's directory.

    DamagedRecording: a log lacks the program.
    """
    launched = needs_launcher(job, one)
    recordings = {rank: job.rank(rank) for rank in range(one.nranks)}
    for recording in recordings.values():
        if "argv" not in recording.meta:
            segment = recording.path / "log-000000.seg"
            raise DamagedRecording(
                f"{segment}: expected the program's arguments in its first record"
            )
    place = Where(0, one.nranks if launched else None, launcher if launched else "none")
    cut = dict.fromkeys(range(one.nranks), one.number)
    branch = make_branch(job, cut, place, name, in_place, hosts, record)
    ranks: dict[int, dict[str, object]] = {}
    for rank in range(one.nranks):
        recording = recordings[rank]
        meta = recording.meta
        options = ["--restart", str(recording.path), "--checkpoint", str(one.number)]
        options += ["--from-image", *common]
        options += ["--in-place"] if in_place else []
        options += ["--undo"] if not record else []
        ranks[rank] = {
            "argv": [str(word) for word in meta["argv"]],
            "cwd": str(meta.get("cwd", "/")),
            "mpi": mpi,
            "options": options,
            "board": 0 if record else one.nranks,
        }
    with on_failure(lambda: shutil.rmtree(branch)), writing(branch):
        _socket_ranks(recordings, one.number, branch)
        write_plan(branch, ranks)
    return branch


def _socket_ranks(recordings: dict[int, RankRecording], number: int, branch: str) -> None:
    """Writes the ranks that have to find each other (interposer/restart/sockets/rendezvous.c)."""
    ranks = [rank for rank, one in recordings.items() if _sockets(one.path / f"state-{number}")]
    if ranks:
        with open(os.path.join(branch, "sockets-ranks"), "x", opener=opener) as file:
            file.writelines(f"{rank}\n" for rank in ranks)


def _sockets(state: Path) -> int:
    """Number of the rank's sockets; 0 for a damaged file, which the rank itself refuses."""
    with state.open("rb") as file:
        head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return 0
    magic, *_, sockets = _HEAD.unpack(head)
    return int(sockets) if magic == _MAGIC else 0


@contextmanager
def alone_in_place(job: Path, in_place: bool) -> Iterator[None]:
    """Holds a lock on JOB while it is restarted in place: two restarts would write the same files.

    RdbError: another restart holds it.
    """
    if not in_place:
        yield
        return
    with open(os.path.join(job, "in-place"), "w", encoding="ascii", opener=opener) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RdbError(
                f"{job.name} is being restarted in place already", "restart it without --in-place"
            ) from None
        yield
