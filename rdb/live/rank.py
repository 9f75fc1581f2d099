"""One rank of a restart, started by mpirun: what it is to do is in the branch's directory."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rdb.checked import from_json, to_json
from rdb.coordinate.joining import checkpoints_options, several_hosts
from rdb.errors import DamagedRecording, Unsupported
from rdb.launch.command import rdb_exec_line
from rdb.launch.newjob import note_allocation, rank_directory
from rdb.launch.where import where
from rdb.private import check_job, make_directory, opener

_PLAN = "restart.json"


def write_plan(branch: str, ranks: dict[int, dict[str, object]]) -> None:
    """RANKS: of each the recording, the event, the image, options, command line and directory."""
    with open(os.path.join(branch, _PLAN), "x", encoding="utf-8", opener=opener) as file:
        file.write(to_json({str(rank): plan for rank, plan in ranks.items()}))


def plan_line(branch: str, rank: int, launched: bool = False) -> tuple[list[str], str]:
    """The command line of that rank, and the directory in which it goes on."""
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
    if plan.get("board"):  # how many ranks agree on checkpoints
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
    """Where ranks run on a host that does not have the program's directory."""
    path = os.path.join(branch, "directory")
    with suppress(FileExistsError):  # another rank was faster
        make_directory(path)
    return path


def restart_rank(branch: str) -> int:
    """Does not return when it works."""
    place = where(os.environ)
    line, directory = plan_line(branch, place.rank, launched=True)
    if place.launcher == "srun":
        note_allocation(branch, place)
    try:
        os.chdir(directory)
    except FileNotFoundError:  # another machine than it ran on
        os.chdir(_own_directory(branch))
    except OSError as error:
        raise Unsupported(f"{directory}, where it ran: {error.strerror}") from error
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(line[0], line)
