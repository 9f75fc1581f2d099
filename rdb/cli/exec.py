"""`rdb exec`: become rdb-exec for this rank.  Started by mpirun or srun, or by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rdb.environment import for_rdb_exec
from rdb.errors import Unsupported, Usage
from rdb.home import home
from rdb.launch import inherited
from rdb.launch.command import CHECK_CHOICES, CPU_CHOICES, RECORD_CHOICES, rdb_exec_line
from rdb.launch.hca import hca_options
from rdb.launch.limits import check_limit, check_record, write_kept_budget
from rdb.launch.newjob import join_job, note_allocation, rank_directory
from rdb.launch.program import find_program, look_up
from rdb.launch.where import where
from rdb.private import check_job

_FLAGS = ("--chaos", "--lax", "--no-children")
_CHOICES = {"--check": CHECK_CHOICES, "--cpu": CPU_CHOICES, "--record": RECORD_CHOICES}
_LIMITS = ("--checkpoint-every", "--keep", "--log-budget", "--kept-budget")
_NUMBERS = ("--hash-every", "--slice", "--mtbf")
_OURS = ("--name", "--job", "--hca", "--mpi", "--kept-budget")
"""The other options are rdb-exec's, too."""


def exec_command(arguments: Sequence[str]) -> int:
    """Becomes rdb-exec; returns only for --help.  RdbError: this rank cannot be recorded."""
    if arguments[:1] == ["--restart"] and len(arguments) == 2:
        from rdb.live.rank import restart_rank

        return restart_rank(arguments[1])
    if arguments[:1] == ["--expand"] and len(arguments) in (2, 4):
        from rdb.live.expand.all_ranks import expand_rank

        return expand_rank(arguments[1], arguments[3] if len(arguments) == 4 else None)
    asked, rest = _parsed(arguments)
    if "--help" in asked:
        from rdb.cli.parser import dispatch

        return dispatch(["exec", "--help"])
    if not rest:
        raise Usage("exec: no program", "rdb exec -- PROG ARGS")
    record = asked.get("--record", "full")
    check_record(record, "--keep" in asked, "--chaos" in asked)
    program = find_program(rest[0])
    place = where(os.environ)
    job = asked.get("--job", os.environ.get("RDB_JOB_DIR"))
    options = [word for one in asked.items() if one[0] not in _OURS for word in one if word]
    if record == "off" and place.nranks is None:
        # nothing is written: a process without a launcher has no place for checkpoints
        rank, files = "/", "/"
        shared = os.path.abspath(job) if job else home()
    else:
        path = os.path.abspath(job) if job else None
        path = path or join_job(program, rest, place, asked.get("--name"), record != "off")
        check_job(path)
        if not os.path.exists(os.path.join(path, "job.json")):
            raise Unsupported(f"{path} is not a job's directory")
        rank, files = rank_directory(path, place.rank), os.path.join(path, "files")
        if "--kept-budget" in asked:
            write_kept_budget(path, asked["--kept-budget"])
        if place.launcher == "srun":
            note_allocation(path, place)
        if record == "off":
            from rdb.coordinate.joining import checkpoints_options, several_hosts

            at = options.index("--record")
            nranks = place.nranks or 1
            several = several_hosts(os.environ, nranks)
            options[at : at + 2] = []
            options += checkpoints_options(path, place.rank, nranks, several)
        shared = path if job or place.launcher != "none" else os.path.dirname(path)
    line = rdb_exec_line(
        rank,
        files,
        place.rank,
        rest[0],
        rest[1:],
        [*options, *hca_options(asked.get("--hca"), shared), "--exe", look_up(rest[0])],
        asked.get("--mpi"),
    )
    os.environ.pop("RDB_JOB_DIR", None)  # hide it from the program
    environment = for_rdb_exec(os.environ)
    inherited.hand_on()
    os.execve(line[0], line, environment)


def _parsed(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Options with their values (flags: none), and the words of the program.

    By hand: argparse costs every rank 10 ms.
    """
    asked: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.pop(0).partition("=")
        if option == "--":
            break
        if option in ("-h", "--help"):
            return {"--help": ""}, rest
        if option in _FLAGS:
            asked[option] = ""
            continue
        if option not in (*_OURS, *_CHOICES, *_LIMITS, *_NUMBERS):
            raise Usage(f"exec: unknown option {option}", "`rdb exec --help` lists them")
        if not equals:
            if not rest:
                raise Usage(f"exec: {option} needs a value")
            value = rest.pop(0)
        if option in _LIMITS:
            check_limit(option, value)
        elif value not in _CHOICES.get(option, (value,)):
            raise Usage(
                f"exec: {option} {value}: no such choice", f"write {', '.join(_CHOICES[option])}"
            )
        elif option in _NUMBERS and not value.isdigit():
            raise Usage(f"exec: {option} {value}: not a number")
        asked[option] = value
    return asked, rest
