"""Restarts of a recorded job, from any event."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rdb.cli.expand import expand_if_needed
from rdb.cli.restart_common import (
    asked_placement,
    code_of_none,
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
from rdb.cli.run import INTERRUPTED, say_what_may_not_replay
from rdb.errors import Unsupported, Usage
from rdb.launch.hca import SOFT_DEVICE, hca_options
from rdb.launch.newjob import writing
from rdb.launch.placement import Placement, placed_lines
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.files.apart_files import homes
from rdb.live.files.file_order import write_files
from rdb.live.files.later_files import give_nothing, write_later
from rdb.live.from_checkpoint import alone_in_place
from rdb.live.plan import Plan, RankPlan, make_plan, plan_lines
from rdb.live.rank import write_plan
from rdb.live.sockets import uses_sockets
from rdb.live.tree.plan import write_tree
from rdb.private import opener
from rdb.recording import Job, open_job
from rdb.recording.stored import check_all_stored


def from_log(job: Job, args: argparse.Namespace, pack: Path | None) -> int:
    if args.record == "off":
        raise Usage(f"--record off: {job.name} was recorded, and so are its branches", "drop it")
    common = options_of(args)
    expand_if_needed(job)
    plan = make_plan(job, args.rank, args.at)
    mpi = mpi_from_now(args, job, plan.launched)
    check_all_stored(job.path / "files")
    say_lost(plan.lost)
    for rank, one in plan.ranks.items():
        for text in one.recording.cautions:
            print(f"rdb: rank {rank}, {text}", file=sys.stderr)
    _say_left(plan, args.in_place)
    asked = asked_placement(args, len(plan.ranks), plan.launched, mpi)
    if plan.trees and args.in_place:
        raise Usage(
            "--in-place: the program has child processes or files that an earlier program of its "
            "process had opened (execve), which go on with copies of its files",
            "drop the option",
        )
    if args.plan:
        print("\n".join([*plan_lines(plan), *placed_lines(asked)]))
        return 0
    if plan.later.refused and not args.in_place:
        raise Unsupported(
            plan.later.refused[0],
            "choose a later event, record with a larger --kept-budget, or use --in-place",
        )
    launcher = asked.launcher if plan.launched else "none"
    place = Where(min(plan.ranks), len(plan.ranks) if plan.launched else None, launcher)
    cut = {rank: one.event for rank, one in plan.ranks.items()}
    with alone_in_place(job.path, args.in_place):
        branch = make_branch(job, cut, place, args.name, args.in_place, asked.names)
        with removed_unless_begun(Path(branch), plan.ranks, asked.names):
            code, apart, there = _go_on(job, args, pack, plan, asked, branch, mpi, common)
    if not _say(Path(branch), job, plan, code, asked.names if apart else (), args.in_place):
        return code_of_none(code)
    if there:
        from rdb.agents.preparing import copies_elsewhere  # late import: asyncio

        for host, path in copies_elsewhere(open_job(branch), there):
            print(f"rdb: {path.name.split('-', 1)[1]} went on as {host}:{path}", file=sys.stderr)
    return code


def _go_on(
    job: Job,
    args: argparse.Namespace,
    pack: Path | None,
    plan: Plan,
    asked: Placement,
    branch: str,
    mpi: str | None,
    common: list[str],
) -> tuple[int, bool, dict[Path, str]]:
    """Prepares the ranks and runs them.

    Returns the exit code, whether hosts have disks of their own, and the copies of files that are
    on those hosts, with their hosts.
    """
    with writing(branch):
        places = _write(args, plan, branch, mpi, common)
    hosts = asked.names if asked.by_ssh else ()
    there: dict[Path, str] = {}

    def copies_on(names: Sequence[str]) -> dict[Path, str]:
        give_nothing(branch)
        if plan.trees:
            raise Unsupported(
                "cannot restart on hosts without a common file system: ranks have child processes "
                "or files that an earlier program of their process had opened (execve)"
            )
        users = {path: plan.users_of(path) or set(plan.ranks) for path in places}
        there.update((places[path], at) for path, at in homes(users, asked.hosts, names).items())
        return there

    with prepared(branch, hosts, pack, job, copies_on) as apart:
        return run_branch(branch, asked, plan.launched, next(iter(plan.ranks))), apart, there


def _write(
    args: argparse.Namespace, plan: Plan, branch: str, mpi: str | None, common: list[str]
) -> dict[str, Path]:
    """Writes what the ranks start from; returns the place of each copy of a file."""
    _socket_ranks(plan, branch)
    places = write_files(plan.files, branch, list(plan.ranks))
    if not args.in_place:
        places |= write_later(plan.later, branch, places)
    hca = _verbs_options(plan, branch, args.hca)
    lines: dict[int, dict[str, object]] = {}
    for rank, one in plan.ranks.items():
        program, options = one.recording, [*_rank_options(branch, rank, one), *common, *hca]
        if rank in plan.trees:
            program, options = write_tree(branch, plan.trees[rank], rank, options, common, mpi)
        if args.in_place:
            options.append("--in-place")
        lines[rank] = {
            "argv": [str(word) for word in program.meta["argv"]],
            "cwd": str(program.meta.get("cwd", "/")),
            "mpi": mpi,
            "options": options,
        }
    write_plan(branch, lines)
    return places


def _say_left(plan: Plan, in_place: bool) -> None:
    """Says which files hold data from after the cut, which the branch may read."""
    what = "its content at the cut is not known: the branch sees the current content"
    lines = [*(f"{path}: {what}" for path in plan.files.left), *plan.later.left]
    lines += plan.later.refused
    lines += [] if in_place else plan.later.linked
    if in_place:
        lines += [
            f"{path}: it was written to after the cut; --in-place does not undo that"
            for path in sorted(plan.later.shown)
        ]
    for line in lines:
        print(f"rdb: {line}", file=sys.stderr)


def _socket_ranks(plan: Plan, branch: str) -> None:
    """Writes the ranks that have to find each other (interposer/restart/sockets/rendezvous.c)."""
    ranks = [rank for rank, one in plan.ranks.items() if uses_sockets(one.recording, one.event)]
    if ranks:
        with open(os.path.join(branch, "sockets-ranks"), "x", opener=opener) as file:
            file.writelines(f"{rank}\n" for rank in ranks)


def _verbs_options(plan: Plan, branch: str, hca: str | None) -> list[str]:
    """Writes a plan for each rank that uses verbs; returns the options that choose the HCA."""
    for rank, lines in plan.verbs.items():
        with open(os.path.join(branch, f"verbs-plan-{rank}"), "x", opener=opener) as file:
            file.writelines(f"{line}\n" for line in lines)
    for rank, text in plan.verbs_begun.items():
        with open(os.path.join(branch, f"verbs-begun-{rank}"), "x", opener=opener) as file:
            file.write(text)
    recorded = "soft" if plan.device == SOFT_DEVICE else None
    return hca_options(hca or recorded, branch, True) if plan.device or hca else []


def _rank_options(branch: str, rank: int, plan: RankPlan) -> list[str]:
    options = ["--restart", str(plan.recording.path), "--at", str(plan.event)]
    options += ["--checkpoint", str(plan.image), *plan.options]
    if plan.sends:
        path = os.path.join(branch, f"in-flight-{rank}")
        with open(path, "x", encoding="ascii", opener=opener) as file:
            file.writelines(f"{event} {which}\n" for event, which in plan.sends)
        options += ["--in-flight", path]
    return options


def _where(plan: Plan) -> str:
    """`event 7`; with several ranks, the first rank's event."""
    first, *others = plan.ranks.items()
    return f"event {first[1].event}" + (f" of rank {first[0]}" if others else "")


def _say(
    branch: Path, job: Job, plan: Plan, code: int, hosts: Sequence[str], in_place: bool
) -> bool:
    """Says what the branch is.  False: there is none, as a rank did not begin.

    HOSTS: the hosts whose ranks' recordings are on their own disks.
    """
    if remove_empty(branch, plan.ranks, hosts):  # a rank has printed the reason
        if code == INTERRUPTED:
            print(
                "rdb: interrupted before all ranks had started: there is no branch", file=sys.stderr
            )
        return False
    if not in_place:
        say_copies(branch, plan.ranks)
    say_files(branch)
    print(
        f"rdb: recorded job {branch.name} (a branch of {job.name} at {_where(plan)}, "
        f"exit code {code}); rdb attach {branch.name}",
        file=sys.stderr,
    )
    say_what_may_not_replay(str(branch), branch.name)
    return True
