"""One rank of a restart, as the launcher starts it; its plan is in the branch's directory."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rdb.checked import from_json, to_json
from rdb.coordinate.joining import checkpoints_options, several_hosts
from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, Unsupported
from rdb.launch.command import rdb_exec_line
from rdb.launch.newjob import note_allocation, rank_directory
from rdb.launch.where import where
from rdb.private import check_job, make_directory, opener

_PLAN = "restart.json"


def write_plan(branch: str, ranks: dict[int, dict[str, object]]) -> None:
    """RANKS: of each rank `argv`, `cwd`, `mpi` and `options` for rdb-exec, and `board`.

    `board` is the number of ranks that agree on checkpoints; 0 or absent: a log is recorded.
    """
    with open(os.path.join(branch, _PLAN), "x", encoding="utf-8", opener=opener) as file:
        file.write(to_json({str(rank): plan for rank, plan in ranks.items()}))


def plan_line(branch: str, rank: int, launched: bool = False) -> tuple[list[str], str]:
    """The command line of the rank, and the directory to run it in.

    DamagedRecording: the plan is damaged. Unsupported: it lacks the rank.
    """
    check_job(branch)
    path = os.path.join(branch, _PLAN)
    with open(path, encoding="utf-8") as file:
        try:
            plan = from_json(file.read()).get(str(rank))
        except ValueError as error:
            raise DamagedRecording(f"{path}: {error}") from None
    if plan is None:
        raise Unsupported(f"the restart in {branch} has no rank {rank}")
    program, *arguments = plan["argv"]
    options = plan["options"]
    if plan.get("board"):  # number of ranks that agree on checkpoints
        nranks = int(plan["board"])
        several = launched and several_hosts(os.environ, nranks)
        options += checkpoints_options(branch, rank, nranks, several)
    line = rdb_exec_line(
        rank_directory(branch, rank),
        os.path.join(branch, "files"),
        rank,
        program,
        arguments,
        options,
        plan["mpi"],
    )
    return line, plan["cwd"]


def _own_directory(branch: str) -> str:
    """A directory for ranks on a host that lacks the program's directory."""
    path = os.path.join(branch, "directory")
    with suppress(FileExistsError):  # another rank was faster
        make_directory(path)
    return path


def restart_rank(branch: str) -> int:
    """Becomes rdb-exec for this rank; returns never."""
    place = where(os.environ)
    line, directory = plan_line(branch, place.rank, launched=True)
    if place.launcher == "srun":
        note_allocation(branch, place)
    try:
        os.chdir(directory)
    except FileNotFoundError:  # this host lacks the program's directory
        os.chdir(_own_directory(branch))
    except OSError as error:
        raise Unsupported(f"the job's directory {directory}: {error.strerror}") from error
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(line[0], line, for_rdb_exec(os.environ))
