"""The ranks on this host: of rdb's jobs and of others, as /proc shows them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rdb.launch.where import where


@dataclass(frozen=True, slots=True)
class Found:
    pid: int
    rank: int
    nranks: int | None
    launcher: str
    program: str
    job: str | None
    """The directory of the job that it is recorded in; None: it is not recorded."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def ranks_here(proc: Path = Path("/proc")) -> list[Found]:
    """One of each rank: the processes that it started have its environment too."""
    found: dict[tuple[str, int], Found] = {}
    for entry in sorted((one for one in proc.iterdir() if one.name.isdigit()), key=_number):
        one = _found(entry)
        if one is not None:
            key = (one[1], one[0].rank)
            before = found.get(key)
            if before is None or (before.job is None and one[0].job is not None):
                found[key] = one[0]
    return sorted(found.values(), key=lambda one: (one.job or "", one.rank))


def _number(entry: Path) -> int:
    return int(entry.name)


def _found(entry: Path) -> tuple[Found, str] | None:
    """Also what is the same for all ranks of a launch."""
    try:
        environ = (entry / "environ").read_bytes()
        words = [os.fsdecode(word) for word in (entry / "cmdline").read_bytes().split(b"\0")][:-1]
    except OSError:  # another user's, or over by now
        return None
    pairs = (os.fsdecode(one).partition("=") for one in environ.split(b"\0"))
    env = {name: value for name, equals, value in pairs if equals}
    if not words or not any(name in env for name in _RANKS):
        return None
    try:
        place = where(env)
    except OSError:
        return None
    recorded = os.path.basename(words[0]) == "rdb-exec" and "--dir" in words
    if not recorded and _starts_ranks(words[0]):
        return None
    job, program = None, words[0]
    if recorded:
        folder = words[words.index("--dir") + 1]
        job = _job_of(folder)
        program = words[words.index("--") + 1] if "--" in words[:-1] else words[0]
    launch = job or place.key or ""
    return Found(int(entry.name), place.rank, place.nranks, place.launcher, program, job), launch


# of a rank, never of a daemon but SLURM_PROCID (see rdb/launch/where.py)
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_DAEMONS = ("orted", "prted", "hydra_pmi_proxy", "mpirun", "orterun", "mpiexec", "slurmstepd")


def _starts_ranks(program: str) -> bool:
    return os.path.basename(program).rstrip(":").split(".")[0] in _DAEMONS


def _job_of(folder: str) -> str | None:
    """JOB of JOB/rank-N or of what is below it."""
    path = Path(folder)
    for one in (path, *path.parents):
        if one.name.startswith("rank-"):
            return str(one.parent)
    return None
