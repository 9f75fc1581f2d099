"""`rdb exec`: become rdb-exec for this rank.  Started by mpirun or srun, or by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rdb.environment import for_rdb_exec
from rdb.errors import Unsupported, Usage
from rdb.home import home
from rdb.launch import inherited
from rdb.launch.command import CHECK_CHOICES, CPU_CHOICES, rdb_exec_line
from rdb.launch.hca import hca_options
from rdb.launch.limits import (
    CHAOS_NEEDS_LOG,
    LEAN_NEEDS_ALL,
    ORDER_HINT,
    ORDER_NEEDS_ALL,
    check_limit,
    write_kept_budget,
)
from rdb.launch.newjob import join_job, note_allocation, rank_directory
from rdb.launch.program import find_program, look_up
from rdb.launch.where import where
from rdb.private import check_job

_LIMITS = ("--checkpoint-every", "--keep", "--log-budget")
_NUMBERS = ("--hash-every", "--slice", "--mtbf")

USAGE = """usage: rdb exec [--name NAME] [--job DIR] [--hash-every N] [--lax] [--no-children]
                [--checkpoint-every N] [--keep N] [--log-budget N] [--kept-budget N] [--slice MS]
                [--chaos] [--record full|order|lean|off] [--check sample|full|off] [--cpu LEVEL]
                [--hca soft|real|auto] [--mpi NAME] -- PROG [ARGS...]

Records this one process as a rank of a job; the launcher's environment says which rank and which
job (`mpirun -n 4 rdb exec -- ./prog`, `srun rdb exec -- ./prog`).

  --name NAME       the job's name (default: PROG-1, PROG-2, ...)
  --job DIR         the job's directory, made before (default: $RDB_JOB_DIR, or found by the launch)
  --hash-every N    store a hash of memory every N events (0: never)
  --checkpoint-every N
                    take a checkpoint every N, such as 1000events, 64MB (of log) or 10s; 0: none
  --keep N          keep only the newest N of each process, such as 4checkpoints, 500MB or 60s
  --log-budget N    stop recording when the log reaches N, such as 500MB or 2GB; the program goes on
  --kept-budget N   keep at most N, such as 500MB or 2GB, on each host, of what the job overwrites
                    or deletes in files (restarts need it)
  --slice MS        a computing thread gives way to a waiting one after MS milliseconds
                    (default: 20)
  --chaos           make rare orders frequent: threads and ranks are late at random, and
                    MPI_ANY_SOURCE takes any message that has come
  --check HOW       how much of the program's output each replay compares: sample (default: of
                    pieces above 64 KiB a sample), full (all of it), off (nothing)
  --record order    log the order of messages, not their contents, which rdb expand regenerates
  --record lean     do not log large messages; debuggers regenerate them from their senders
  --record off      run without a recording, threads in parallel; below mpirun or srun the job takes
                    checkpoints when rdb checkpoint asks for one
  --lax             let the kernel answer system calls that rdb does not know, instead of stopping
  --no-children     do not record child processes
  --cpu LEVEL       highest x86-64 level shown to the program: x86-64-v2, x86-64-v3 (default),
                    native
  --hca WHICH       the HCA that the program's verbs use: soft (a software HCA over TCP), real (the
                    machine's devices), auto (real, if there are any; default, or $RDB_HCA)
  --mpi NAME        the MPI that the program runs with, also if it was built for another one:
                    openmpi, mpich (default: the launcher's, or $RDB_MPI)
"""


def exec_command(arguments: Sequence[str]) -> int:
    """Becomes rdb-exec; returns only for --help.  RdbError: this rank cannot be recorded.

    Parsed by hand: argparse costs every rank 10 ms.
    """
    if arguments[:1] == ["--restart"] and len(arguments) == 2:
        from rdb.live.rank import restart_rank

        return restart_rank(arguments[1])
    if arguments[:1] == ["--expand"] and len(arguments) in (2, 4):
        from rdb.live.expand.all_ranks import expand_rank

        return expand_rank(arguments[1], arguments[3] if len(arguments) == 4 else None)
    name: str | None = None
    job = os.environ.get("RDB_JOB_DIR")
    hca: str | None = None
    mpi: str | None = None
    budget: str | None = None
    options: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.pop(0).partition("=")
        if option == "--":
            break
        if option in ("-h", "--help"):
            print(USAGE, end="")
            return 0
        if option in ("--chaos", "--lax", "--no-children"):
            options.append(option)
            continue
        if option not in (
            "--name",
            "--job",
            "--cpu",
            "--check",
            "--hca",
            "--mpi",
            *_NUMBERS,
            "--record",
            "--kept-budget",
            *_LIMITS,
        ):
            raise Usage(f"exec: unknown option {option}", "`rdb exec --help` lists them")
        if not equals:
            if not rest:
                raise Usage(f"exec: {option} needs a value")
            value = rest.pop(0)
        if option == "--name":
            name = value
        elif option == "--job":
            job = value
        elif option == "--kept-budget":
            budget = check_limit(option, value)
        elif option == "--hca":
            hca = value
        elif option == "--mpi":
            mpi = value
        elif option == "--check":
            if value not in CHECK_CHOICES:
                raise Usage(
                    f"exec: --check {value}: no such choice", f"write {', '.join(CHECK_CHOICES)}"
                )
            options += ["--check", value]
        elif option == "--cpu":
            if value not in CPU_CHOICES:
                raise Usage(
                    f"exec: --cpu {value}: no such choice", f"write {', '.join(CPU_CHOICES)}"
                )
            options += ["--cpu", value]
        elif option in _LIMITS:
            options += [option, check_limit(option, value)]
        elif option == "--record":
            if value not in ("full", "order", "lean", "off"):
                raise Usage(
                    f"exec: --record {value}: no such choice", "write full, order, lean, off"
                )
            options.append(f"--record={value}")
        elif value.isdigit():
            options += [option, value]
        else:
            raise Usage(f"exec: {option} {value}: not a number")
    if not rest:
        raise Usage("exec: no program", "rdb exec -- PROG ARGS")

    if "--record=order" in options and "--keep" in options:
        raise Usage(ORDER_NEEDS_ALL, ORDER_HINT)
    if "--record=lean" in options and "--keep" in options:
        raise Usage(LEAN_NEEDS_ALL, ORDER_HINT)
    if "--record=off" in options and "--chaos" in options:
        raise Usage(CHAOS_NEEDS_LOG)
    program = find_program(rest[0])
    place = where(os.environ)
    if "--record=off" in options and place.nranks is None:
        # nothing is written: a process without a launcher has no place for checkpoints
        rank, files = "/", "/"
        shared = os.path.abspath(job) if job else home()
    else:
        record = "--record=off" not in options
        path = os.path.abspath(job) if job else join_job(program, rest, place, name, record)
        check_job(path)
        if not os.path.exists(os.path.join(path, "job.json")):
            raise Unsupported(f"{path} is not a job's directory")
        rank, files = rank_directory(path, place.rank), os.path.join(path, "files")
        if budget is not None:
            write_kept_budget(path, budget)
        if place.launcher == "srun":
            note_allocation(path, place)
        if "--record=off" in options:
            from rdb.coordinate.joining import checkpoints_options, several_hosts

            options.remove("--record=off")
            nranks = place.nranks or 1
            several = several_hosts(os.environ, nranks)
            options += checkpoints_options(path, place.rank, nranks, several)
        shared = path if job or place.launcher != "none" else os.path.dirname(path)
    line = rdb_exec_line(
        rank,
        files,
        place.rank,
        rest[0],
        rest[1:],
        [*options, *hca_options(hca, shared), "--exe", look_up(rest[0])],
        mpi,
    )
    os.environ.pop("RDB_JOB_DIR", None)  # hide it from the program
    environment = for_rdb_exec(os.environ)
    inherited.hand_on()
    os.execve(line[0], line, environment)
