"""Expands a job recorded with --record=order.

A launcher starts a replay of all ranks, which talk over the real MPI. The contents of messages,
which the logs lack, are made again and kept. Each rank checks what it receives against the hashes
in its log (interposer/replay/expand.h).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from rdb.environment import for_rdb_exec
from rdb.errors import Diverged, MissingTool, RdbError, Unsupported
from rdb.launch.command import lib_dir, rdb_exec_path
from rdb.launch.mpi import mpi_options
from rdb.launch.placement import launch, placement
from rdb.launch.where import where
from rdb.live.expand.waits import WAITS, Stuck, Watch, read_wait
from rdb.private import check_job, opener
from rdb.recording import Job, RankRecording, open_job
from rdb.recording.log.record import EndKind
from rdb.recording.order import PAYLOAD, expanded, order_only, order_ranks
from rdb.recording.state import still_runs

_LOCK = "expand.lock"
_LOOK_S = 0.05
_WATCH_S = 0.5
_GRACE_S = 5.0  # for a launcher after all ranks have their payloads
_SAID = 3  # most items that a message names
_CUT_SHORT = {EndKind.BUDGET: "--log-budget", EndKind.DISK: "a full disk"}

Progress = Callable[[int], None]


def expand(
    job: Job,
    mpi: str | None = None,
    launcher: str | None = None,
    hosts: str | None = None,
    on_progress: Progress | None = None,
) -> int:
    """Makes the payloads of all ranks again and returns their total bytes.

    ON_PROGRESS gets the bytes so far. Unsupported: ranks are missing or cut short. Diverged: the
    ranks cannot make their messages again.
    """
    ranks = _ranks(job)
    folders = [one.path for one in ranks]
    with open(job.path / _LOCK, "w", opener=opener) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(map(expanded, ranks)):  # otherwise another rdb has done it meanwhile
            _forget(folders)
            try:
                line = _line(job, ranks, mpi, launcher, hosts)
                watch = Watch(job, {one.rank: one.path for one in ranks})
                _run(line, folders, watch, on_progress)
            except BaseException:
                _forget(folders)
                raise
            finally:
                _remove(folders, (WAITS, f"{WAITS}.new"))
    return sum(_size(folder / PAYLOAD) for folder in folders)


def _ranks(job: Job) -> list[RankRecording]:
    """All ranks.  Unsupported: not all are here and complete."""
    ranks = order_ranks(job)
    recorded, wanted = len(ranks), job.meta.get("nranks") or len(job.ranks)
    if recorded != wanted:
        raise Unsupported(
            f"{job.name}: only {recorded} of its {wanted} ranks are here; rdb needs all of them to "
            "regenerate their messages",
            "copy the recordings of all ranks into one directory",
        )
    for one in ranks:
        if one.state.lives:
            raise still_runs(one.name, job.name)
        if one.end is not None and one.end.kind in _CUT_SHORT:
            raise Unsupported(
                f"rank {one.name} of {job.name}: {_CUT_SHORT[one.end.kind]} ended its recording, "
                "so its later messages cannot be regenerated",
                "record it again",
            )
    return ranks


def _line(
    job: Job,
    ranks: Sequence[RankRecording],
    mpi: str | None,
    launcher: str | None,
    hosts: str | None,
) -> tuple[list[str], dict[str, str]]:
    recorded = str(ranks[0].meta.get("mpi", "")) or None
    mpi = mpi or os.environ.get("RDB_MPI") or recorded
    if len(ranks) == 1 and job.meta.get("launcher") == "none":
        return expand_line(job, 0, mpi), for_rdb_exec(os.environ)
    if launcher is None and job.meta.get("launcher") == "srun" and shutil.which("srun"):
        launcher = "srun"
    words = ["exec", "--expand", str(job.path), *(["--mpi", mpi] if mpi else [])]
    try:
        asked = placement(len(ranks), launcher, hosts, mpi)
        return launch(asked, str(job.path), words, ["RDB_HOME"])
    except MissingTool as error:
        raise MissingTool(
            f"rdb has to run all ranks of {job.name} to regenerate its messages: {error.message}",
            "install the MPI that the job ran with",
        ) from error


def expand_line(job: Job, rank: int, mpi: str | None) -> list[str]:
    """The command line of one rank."""
    recording = job.rank(rank)
    if not order_only(recording):
        raise Unsupported(
            f"rank {rank} of {job.name}: its log already holds the contents of its messages"
        )
    lib = lib_dir()
    options = mpi_options(mpi, lib, os.environ)
    where_ = ["--replay", str(recording.path), "--files", str(recording.files_dir)]
    return [rdb_exec_path(), *where_, "--rank", str(rank), *options, "--expand"]


def expand_rank(path: str, mpi: str | None) -> int:
    """Becomes rdb-exec for one rank, as the launcher starts it; returns never."""
    check_job(path)
    line = expand_line(open_job(path), where(os.environ).rank, mpi)
    os.execve(line[0], line, for_rdb_exec(os.environ))


def _run(
    command: tuple[list[str], dict[str, str]],
    folders: list[Path],
    watch: Watch,
    on_progress: Progress | None,
) -> None:
    line, env = command
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        child = subprocess.Popen(
            line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        try:
            code = _wait(child, folders, watch, on_progress)
        except BaseException:
            _end_ranks(folders)
            raise
        finally:
            _end(child)
        if code != 0 and not _all_there(folders):
            raise _why(said, code)
    if not _all_there(folders):
        raise Diverged(
            "the ranks ended before all messages were regenerated",
            "record the job with --record=full",
        )


def _wait(
    child: subprocess.Popen[bytes],
    folders: list[Path],
    watch: Watch,
    on_progress: Progress | None,
) -> int:
    """Waits for the launcher; returns its exit code, or 0 if only ranks in unanswered
    calls remain.
    """
    there_since: float | None = None
    looked = time.monotonic()
    while child.poll() is None:
        if _all_there(folders):
            there_since = there_since or time.monotonic()
            if time.monotonic() - there_since > _GRACE_S:
                return 0
        elif time.monotonic() - looked > _WATCH_S:
            looked = time.monotonic()
            if differing := watch.disagreement():
                raise Diverged(
                    f"the messages cannot be regenerated: {differing}",
                    "the logs are of different runs: record the job again",
                )
            if stuck := watch.stuck():
                raise _never(stuck)
        if on_progress is not None:
            on_progress(sum(max(_size(f / PAYLOAD), _size(f / f"{PAYLOAD}.new")) for f in folders))
        with suppress(subprocess.TimeoutExpired):
            child.wait(_LOOK_S)
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            child.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_S)


def _end_ranks(folders: Sequence[Path]) -> None:
    """Kills the ranks on this host that have written their wait; the launcher ends the others."""
    for folder in folders:
        wait = read_wait(folder)
        if wait is None or wait.host != os.uname().nodename:
            continue
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            words = Path(f"/proc/{wait.pid}/cmdline").read_bytes().split(b"\0")
            if b"--expand" in words and os.fsencode(folder) in words:
                os.kill(wait.pid, signal.SIGKILL)


def _never(stuck: Sequence[Stuck]) -> RdbError:
    """The error that names ranks which are certain never to go on."""
    lines = []
    for one in stuck[:_SAID]:
        ranks = ", ".join(map(str, one.ranks[:_SAID])) + ("..." if len(one.ranks) > _SAID else "")
        plural = "s" if len(one.ranks) > 1 else ""
        lines.append(
            f"rank {one.rank} waits at event {one.event} ({one.call}) for {one.what} "
            f"rank{plural} {ranks}"
        )
    more = f", and {len(stuck) - _SAID} more wait" if len(stuck) > _SAID else ""
    over = sorted({rank for one in stuck for rank in one.ranks} - {one.rank for one in stuck})
    ended = "".join(f", the log of rank {rank} has ended" for rank in over[:_SAID])
    return Diverged(
        f"the messages cannot be regenerated: {', '.join(lines)}{more}{ended}",
        "the logs are of different runs, or one lacks its end: record the job again",
    )


def _why(said: IO[str], code: int) -> RdbError:
    """The first line that a rank printed with `rdb: `, else the launcher's first line."""
    said.seek(0)
    lines = [line.strip() for line in said.read().splitlines() if line.strip()]
    own = [line.removeprefix("rdb: ") for line in lines if line.startswith("rdb: ")]
    text = (own or lines or [f"the launcher ended with exit code {code}"])[0]
    message, _, hint = text.partition("; ")
    return Diverged(message, hint or None)


def _forget(folders: Sequence[Path]) -> None:
    _remove(folders, (PAYLOAD, f"{PAYLOAD}.new", WAITS))


def _remove(folders: Sequence[Path], names: Sequence[str]) -> None:
    for folder in folders:
        for name in names:
            (folder / name).unlink(missing_ok=True)


def _all_there(folders: Sequence[Path]) -> bool:
    return all((folder / PAYLOAD).exists() for folder in folders)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
