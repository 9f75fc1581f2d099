"""Makes the directory of a new job: a free name, one job.json, one folder for each rank."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Mapping, Sequence

from rdb.errors import RdbError, Unsupported, Usage
from rdb.home import home
from rdb.launch.where import Where
from rdb.private import check_store, make_directories, make_directory, opener

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")
_CLAIMS = ".launches"  # $RDB_HOME/.launches/KEY holds the name of the job of launch KEY
_FORMAT = 2  # rdb.recording.FORMAT; importing that would slow every rank's start


def create_job(
    program: str,
    argv: Sequence[str],
    place: Where,
    name: str | None = None,
    parent: Mapping[str, object] | None = None,
    hosts: Sequence[str] = (),
    record: bool = True,
) -> str:
    """Makes a job's directory and returns its path.

    PARENT: the `parent` entry of job.json, if the job is a branch. Usage: the name is taken or
    invalid. Unsupported: the store cannot be written.
    """
    root = home()
    check_store(root)
    with writing(root):
        make_directories(root)
        path = _reserve(root, os.path.basename(program), name)
        try:
            make_directory(os.path.join(path, "files"))
            _write_meta(path, argv, place, parent, hosts, record)
        except BaseException:
            import shutil

            shutil.rmtree(path, ignore_errors=True)
            raise
    return path


def join_job(
    program: str, argv: Sequence[str], place: Where, name: str | None = None, record: bool = True
) -> str:
    """The directory of this launch's job; the launch's first rank makes it."""
    key = place.key
    if key is None:
        return create_job(program, argv, place, name, record=record)
    root = home()
    claims = os.path.join(root, _CLAIMS)
    check_store(root)
    with writing(root):
        make_directories(claims)
        with open(os.path.join(claims, "lock"), "w", opener=opener) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _forget_removed(root, claims)
            claim = os.path.join(claims, key)
            if os.path.exists(claim):
                with open(claim, encoding="utf-8") as file:
                    return os.path.join(root, file.read())
            path = create_job(program, argv, place, name, record=record)
            with open(claim + ".new", "w", encoding="utf-8", opener=opener) as file:
                file.write(os.path.basename(path))
            os.rename(claim + ".new", claim)
    return path


def rank_directory(job: str, rank: int) -> str:
    """Makes the folder of a rank and returns its path.  RdbError: it holds a recording."""
    path = os.path.join(job, f"rank-{rank}")
    with writing(job):
        try:
            make_directory(path)
        except FileExistsError:
            if os.listdir(path):
                raise RdbError(
                    f"rank {rank} of {os.path.basename(job)} is recorded already",
                    "start a new job",
                    exit_code=125,
                ) from None
    return path


def _forget_removed(root: str, claims: str) -> None:
    for key in os.listdir(claims):
        claim = os.path.join(claims, key)
        if key != "lock":
            with open(claim, encoding="utf-8") as file:
                job = os.path.join(root, file.read())
            if not os.path.exists(os.path.join(job, "job.json")):
                os.unlink(claim)


def _reserve(root: str, program: str, name: str | None) -> str:
    if name is not None:
        if not name or not _LETTERS.issuperset(name) or name[0] in "._+-":
            raise Usage(f"{name!r} cannot be a job's name", "use letters, digits and . _ + -")
        path = os.path.join(root, name)
        try:
            make_directory(path)
        except FileExistsError:
            raise Usage(f"there is a job {name} already", f"`rdb rm {name}` removes it") from None
        return path
    letters = (letter if letter in _LETTERS else "_" for letter in program)
    stem = "".join(letters).lstrip("._+-") or "job"
    number = _next_number(root, stem)
    while True:
        path = os.path.join(root, f"{stem}-{number}")
        try:
            make_directory(path)
        except FileExistsError:
            number += 1
        else:
            return path


def _next_number(root: str, stem: str) -> int:
    taken = [
        int(entry[len(stem) + 1 :])
        for entry in os.listdir(root)
        if entry.startswith(stem + "-") and entry[len(stem) + 1 :].isdigit()
    ]
    return max(taken, default=0) + 1


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise Unsupported(
            "the current directory was removed", "change to another directory and run again"
        ) from None


def _write_meta(
    path: str,
    argv: Sequence[str],
    place: Where,
    parent: Mapping[str, object] | None,
    hosts: Sequence[str],
    record: bool,
) -> None:
    meta: dict[str, object] = {
        "format": _FORMAT,
        "name": os.path.basename(path),
        "argv": list(argv),
        "cwd": _directory(),
        "created_ns": time.time_ns(),
        "nranks": place.nranks,
        "launcher": place.launcher,
    }
    if parent is not None:
        meta["parent"] = parent
    if hosts:
        meta["hosts"] = list(hosts)
    if not record:
        meta["record"] = "off"
    if place.launcher == "srun" and "SLURM_JOB_ID" in os.environ:
        # agents are started by srun in this allocation
        meta["slurm_job"] = os.environ["SLURM_JOB_ID"]
    _put_meta(path, meta)


def _put_meta(path: str, meta: Mapping[str, object]) -> None:
    from rdb.checked import to_json

    temporary = os.path.join(path, ".job.json")
    with open(temporary, "x", encoding="utf-8", opener=opener) as file:
        file.write(to_json(meta))
        file.flush()
        os.fsync(file.fileno())  # after a power failure job.json is complete or absent
    os.rename(temporary, os.path.join(path, "job.json"))


def note_allocation(path: str, place: Where) -> None:
    """Stores the allocation's id in job.json, if srun made the allocation: only ranks know it."""
    from rdb.checked import from_json

    with open(os.path.join(path, "job.json"), encoding="utf-8") as file:
        meta = from_json(file.read())
    job = os.environ.get("SLURM_JOB_ID")
    if job is not None and place.rank == 0 and meta.get("slurm_job") != job:
        _put_meta(path, {**meta, "slurm_job": job})


class writing:
    """Turns an OSError into Unsupported (exit code 125), with the path and the reason."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            text = os.strerror(error.errno) if error.errno else str(error)
            hint = "set RDB_HOME to a directory you may write to"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                hint = "make room, or set RDB_HOME to another disk"
            if error.errno == errno.EFBIG:
                hint = "raise the limit of the size of files (ulimit -f)"
            where = error.filename2 or error.filename or self._where
            raise Unsupported(f"cannot write {where}: {text}", hint) from error
