"""Restarts of a job without a log, from a checkpoint that all its ranks have."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdb.cli.parser import dispatch
from rdb.cli.restart_common import (
    asked_placement,
    code_of_none,
    enter,
    has_begun,
    mpi_from_now,
    options_of,
    prepared,
    remove_empty,
    removed_unless_begun,
    run_branch,
    say_copies,
    say_files,
    say_lost,
)
from rdb.coordinate.centre import is_apart
from rdb.coordinate.coordinated import Together, choose_whole, none_taken
from rdb.errors import Unsupported, Usage
from rdb.launch.placement import placed_lines
from rdb.live.files import lives
from rdb.live.files.rolled_back import finish, roll_back
from rdb.live.files.undone import go_on_with_copies, undone
from rdb.live.from_checkpoint import alone_in_place, needs_launcher, prepare
from rdb.live.from_checkpoint import plan_lines as lines_of
from rdb.live.redistributed import write_arrays
from rdb.recording import Job
from rdb.recording.stored import check_all_stored

_OF_RUN = (
    *("name", "mpi", "hca", "launcher", "hosts"),
    *("check", "hash_every", "checkpoint_every", "keep"),
)


def from_checkpoint(job: Job, args: argparse.Namespace, pack: Path | None) -> int:
    """Restarts a job that ran without a log, from a checkpoint that all its ranks have."""
    common = options_of(args)
    check_all_stored(job.path / "files")
    one, lost = choose_whole(job, args.at)
    say_lost(lost)
    if args.n is not None and args.n != one.nranks:
        return _with_other_ranks(job, one, args)
    launched = needs_launcher(job, one)
    mpi = mpi_from_now(args, job, launched)
    asked = asked_placement(args, one.nranks, launched, mpi)
    if args.plan:
        later = undone(job, one).later
        print("\n".join([*lines_of(job, one), *later.lines(), *placed_lines(asked)]))
        say_lost([*later.left, *([] if args.in_place else later.linked), *later.refused])
        return 0
    with alone_in_place(job.path, args.in_place):
        hosts = asked.names if asked.by_ssh else ()
        record = args.record == "full"
        branch = prepare(
            *(job, one, args.name, args.in_place, record, common, mpi),
            *(asked.launcher, asked.names),
        )
        with (
            _noted_unless_begun(job, one, branch),
            removed_unless_begun(Path(branch), range(one.nranks), asked.names),
            prepared(branch, hosts, pack, job) as apart,
        ):
            _roll_back(job, one, branch, args.in_place, apart)
            code = run_branch(branch, asked, launched, 0)
    kept = apart and args.record != "full"  # without a log nothing shows that a rank has begun
    if not kept and remove_empty(Path(branch), range(one.nranks), asked.names if apart else ()):
        return code_of_none(code)
    if not args.in_place:
        say_copies(Path(branch), range(one.nranks))
    say_files(Path(branch))
    if args.record != "full":
        say_lost([line for line in [none_taken(Path(branch))] if line])
    print(
        f"rdb: job {Path(branch).name} (from checkpoint {one.number} of {job.name}, "
        f"exit code {code})",
        file=sys.stderr,
    )
    return code


def _with_other_ranks(job: Job, one: Together, args: argparse.Namespace) -> int:
    """Starts the program anew, with the arrays that it has distributed."""
    programs = {rank: job.rank(rank).meta for rank in range(one.nranks)}
    if any(meta["argv"] != programs[0]["argv"] for meta in programs.values()):
        raise Unsupported(f"-n {args.n}: the ranks of {job.name} run different programs")
    for option in ("in_place", "plan"):
        if getattr(args, option):
            raise Usage(
                f"-n {args.n}: the program starts anew", f"drop --{option.replace('_', '-')}"
            )
    line = ["run", "-n", str(args.n), "--record", "full" if args.record == "full" else "off"]
    args.mpi = mpi_from_now(args, job, True)
    for option in _OF_RUN:
        value = getattr(args, option)
        line += [] if value is None else [f"--{option.replace('_', '-')}={value}"]
    with tempfile.TemporaryDirectory(prefix="redistributed-", dir=job.path) as folder:
        arrays = write_arrays(job, one, Path(folder))
        print(
            f"rdb: the program starts anew with {', '.join(arrays)} of checkpoint {one.number} of "
            f"{job.name}",
            file=sys.stderr,
        )
        os.environ["RDB_REDISTRIBUTED"] = folder
        enter(str(programs[0].get("cwd", "/")))
        return dispatch([*line, "--", *(str(word) for word in programs[0]["argv"])])


@contextmanager
def _noted_unless_begun(job: Job, one: Together, branch: str) -> Iterator[None]:
    """Notes that a branch in which no rank has begun has not changed the job's files."""
    try:
        yield
    finally:
        newest = lives.went_on(job.path)
        here = newest is not None and newest.path == Path(branch)
        if here and not any(has_begun(Path(branch), rank) for rank in range(one.nranks)):
            lives.note(job.path, one.number, None)


def _roll_back(job: Job, one: Together, branch: str, in_place: bool, apart: bool) -> None:
    """Files that the job has changed after the checkpoint are as they were, for the branch.

    APART: its hosts have no common disk. Unsupported: a file was not kept for lack of room.
    """
    if job.packed or apart or is_apart(job.path):
        why = "a pack does not hold them" if job.packed else "its hosts have no common disk"
        say_lost([f"files that the job had closed at the checkpoint are as they are now: {why}"])
        return
    for path in lives.of_same_files(job.path):
        say_lost(finish(path))
    found = undone(job, one)
    say_lost(found.later.left + ([] if in_place else found.later.linked))
    if found.later.refused:
        raise Unsupported(
            found.later.refused[0], "choose a later checkpoint, or run with a larger --kept-budget"
        )
    if in_place and found.later.sources:
        raise Unsupported(
            f"{job.name} goes on with copies of files: it cannot be restarted in place",
            "restart it without --in-place",
        )
    if in_place:
        say_lost(roll_back(found, job.path, one.number, branch))
    else:
        go_on_with_copies(found, branch, one.nranks)
