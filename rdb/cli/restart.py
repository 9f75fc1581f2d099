"""`rdb restart`: a recorded job runs live again, as a branch of its own recording."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdb.agents.preparing import copies_elsewhere, prepared_hosts, recorded_elsewhere
from rdb.cli.carrying import carried
from rdb.cli.expand import expand_if_needed
from rdb.cli.run import INTERRUPTED, run_foreground, say_what_may_not_replay
from rdb.coordinate.coordinated import choose_whole, unrecorded
from rdb.errors import Unsupported, Usage
from rdb.launch.command import chosen_mpi
from rdb.launch.hca import SOFT_DEVICE, hca_options
from rdb.launch.limits import check_limit
from rdb.launch.placement import Placement, launch, placed_lines, placement
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.files.apart_files import homes
from rdb.live.files.file_order import copies, write_files
from rdb.live.files.later_files import give_nothing, later_copies, write_later
from rdb.live.from_checkpoint import alone_in_place, needs_launcher, prepare
from rdb.live.from_checkpoint import plan_lines as lines_of
from rdb.live.plan import Plan, RankPlan, make_plan, plan_lines
from rdb.live.rank import plan_line, write_plan
from rdb.live.sockets import uses_sockets
from rdb.live.tree.plan import tree_options, write_tree
from rdb.live.until_damage import until_damage
from rdb.private import opener
from rdb.recording import Job, open_job
from rdb.recording.stored import check_all_stored


def restart_command(args: argparse.Namespace) -> int:
    with carried(open_job(args.job), args) as (job, pack):
        if unrecorded(job):
            return _from_checkpoint(job, args, pack)
        with until_damage(job) as (sound, lost):
            _say_lost(lost)
            return _from_log(sound, args, pack)


def _from_log(job: Job, args: argparse.Namespace, pack: Path | None) -> int:
    if args.record == "off":
        raise Usage(f"--record off: {job.name} was recorded, and so are its branches", "drop it")
    common = _options(args)
    expand_if_needed(job)
    mpi = chosen_mpi(args.mpi)
    plan = make_plan(job, args.rank, args.at)
    check_all_stored(job.path / "files")
    _say_lost(plan.lost)
    for rank, one in plan.ranks.items():
        for text in one.recording.cautions:
            print(f"rdb: rank {rank}, {text}", file=sys.stderr)
    _say_left(plan, args.in_place)
    asked = _placement(args, len(plan.ranks), plan.launched, mpi)
    if plan.trees and args.in_place:
        raise Usage(
            "--in-place: the program has child processes, which go on with copies of its files",
            "drop the option",
        )
    if args.plan:
        print("\n".join([*plan_lines(plan), *placed_lines(asked)]))
        return 0
    if plan.later.refused and not args.in_place:
        raise Unsupported(
            plan.later.refused[0],
            "a later event, a recording with a larger --kept-budget, or --in-place",
        )
    launcher = asked.launcher if plan.launched else "none"
    place = Where(min(plan.ranks), len(plan.ranks) if plan.launched else None, launcher, None)
    cut = {rank: one.event for rank, one in plan.ranks.items()}
    with alone_in_place(job.path, args.in_place):
        branch = make_branch(job, cut, place, args.name, args.in_place, asked.names)
        with _removed_unless_begun(Path(branch), plan.ranks):
            code, apart, there = _go_on(job, args, pack, plan, asked, branch, mpi, common)
    if _say(Path(branch), job, plan, code, asked.names if apart else ()) and there:
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
    """What its ranks begin from is written, and they run: the exit code, whether hosts have
    disks of their own, and on which of those there are copies of files."""
    _socket_ranks(plan, branch)
    places = write_files(plan.files, branch, list(plan.ranks))
    if not args.in_place:
        places |= write_later(plan.later, branch, places)
    for rank, tree in plan.trees.items():
        write_tree(branch, tree, rank, common, mpi)
    hca = _verbs_options(plan, branch, args.hca)
    write_plan(
        branch,
        {
            rank: {
                "argv": [str(word) for word in one.recording.meta["argv"]],
                "cwd": str(one.recording.meta.get("cwd", "/")),
                "mpi": mpi,
                "options": [
                    *_rank_options(branch, rank, one),
                    *common,
                    *hca,
                    *(tree_options(branch, rank) if rank in plan.trees else []),
                    *(["--in-place"] if args.in_place else []),
                ],
            }
            for rank, one in plan.ranks.items()
        },
    )
    hosts = asked.names if asked.by_ssh else ()
    there: dict[Path, str] = {}

    def copies_on(names: Sequence[str]) -> dict[Path, str]:
        give_nothing(branch)
        if plan.trees:
            raise Unsupported(
                "its ranks have child processes, and its hosts have no file system in common"
            )
        users = {path: plan.users_of(path) or set(plan.ranks) for path in places}
        there.update((places[path], at) for path, at in homes(users, asked.hosts, names).items())
        return there

    with prepared_hosts(open_job(branch), hosts, pack, job, copies_on) as apart:
        return _run(branch, asked, plan.launched, next(iter(plan.ranks))), apart, there


@contextmanager
def _removed_unless_begun(branch: Path, ranks: Collection[int]) -> Iterator[None]:
    """What cannot be started, or was given up before it had, leaves no branch behind."""
    try:
        yield
    except BaseException:
        _remove_empty(branch, ranks, ())
        raise


def _placement(args: argparse.Namespace, nranks: int, launched: bool, mpi: str | None) -> Placement:
    if args.n is not None and args.n != nranks:
        raise Usage(
            f"-n {args.n}: the job has {nranks} ranks, and so has every restart of it",
            "--hosts FILE places them differently",
        )
    if not launched and (args.hosts or args.launcher):
        raise Usage("the job has one rank and no MPI: no launcher starts it", "drop the option")
    return placement(nranks, args.launcher, args.hosts, mpi)


def _from_checkpoint(job: Job, args: argparse.Namespace, pack: Path | None) -> int:
    """A job that ran without a log goes on from what all its ranks have."""
    common = _options(args)
    mpi = chosen_mpi(args.mpi)
    check_all_stored(job.path / "files")
    one, lost = choose_whole(job, args.at)
    _say_lost(lost)
    launched = needs_launcher(job, one)
    asked = _placement(args, one.nranks, launched, mpi)
    if args.plan:
        print("\n".join([*lines_of(job, one), *placed_lines(asked)]))
        return 0
    with alone_in_place(job.path, args.in_place):
        hosts = asked.names if asked.by_ssh else ()
        record = args.record == "full"
        branch = prepare(job, one, args.name, args.in_place, record, common, mpi, asked.names)
        with (
            _removed_unless_begun(Path(branch), range(one.nranks)),
            prepared_hosts(open_job(branch), hosts, pack, job) as apart,
        ):
            code = _run(branch, asked, launched, 0)
    kept = apart and args.record != "full"  # no log says that a rank has begun
    if not kept and _remove_empty(Path(branch), range(one.nranks), asked.names if apart else ()):
        return code  # a rank said why
    _say_copies([Path(branch) / f"rank-{rank}" for rank in range(one.nranks)])
    _say_files(Path(branch))
    print(
        f"rdb: job {Path(branch).name} (from checkpoint {one.number} of {job.name}, "
        f"exit code {code})",
        file=sys.stderr,
    )
    return code


def _say_lost(lost: list[str]) -> None:
    for line in lost:
        print(f"rdb: {line}", file=sys.stderr)


def _say_copies(folders: list[Path]) -> None:
    for folder in folders:
        for copy in sorted(folder.glob("file-*")):
            print(f"rdb: {copy.name.split('-', 2)[2]} went on as {copy}", file=sys.stderr)


def _say_left(plan: Plan, in_place: bool) -> None:
    """Files of which the branch may find what the recorded job did only later."""
    what = "what was in it at the cut is not known: the branch finds what is now"
    lines = [*(f"{path}: {what}" for path in plan.files.left), *plan.later.left]
    lines += plan.later.refused
    if in_place:
        lines += [
            f"{path}: it was written to after the cut, and stays so"
            for path in sorted(plan.later.shown)
        ]
    for line in lines:
        print(f"rdb: {line}", file=sys.stderr)


def _say_files(branch: Path) -> None:
    for copy in [*copies(branch), *later_copies(branch)]:
        print(f"rdb: {copy.name.split('-', 1)[1]} went on as {copy}", file=sys.stderr)


def _run(branch: str, asked: Placement, launched: bool, rank: int) -> int:
    """RANK: the one that there is, where no launcher starts it."""
    if launched:
        line, env = launch(asked, branch, ["exec", "--restart", branch])
        print(f"rdb: {shlex.join(line)}", file=sys.stderr)
        return run_foreground(line, env, branch)
    line, directory = plan_line(branch, rank)
    try:
        os.chdir(directory)
    except OSError as error:
        raise Unsupported(f"{directory}, where it ran: {error.strerror}") from error
    return run_foreground(line, os.environ)


def _options(args: argparse.Namespace) -> list[str]:
    options = [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    return options + ([] if args.check is None else ["--check", args.check])


def _socket_ranks(plan: Plan, branch: str) -> None:
    """Those that have to find each other (interposer/restart/rendezvous.c)."""
    ranks = [rank for rank, one in plan.ranks.items() if uses_sockets(one.recording, one.event)]
    if ranks:
        with open(os.path.join(branch, "sockets-ranks"), "x", opener=opener) as file:
            file.writelines(f"{rank}\n" for rank in ranks)


def _verbs_options(plan: Plan, branch: str, hca: str | None) -> list[str]:
    """The plan of each rank that uses verbs is a file, and each is told which HCA to use."""
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


def _remove_empty(branch: Path, ranks: Collection[int], hosts: Sequence[str]) -> bool:
    """A branch in which a rank has not begun is none."""
    begun = {rank for rank in ranks if (branch / f"rank-{rank}/log-000000.seg").exists()}
    if hosts:
        begun.update(recorded_elsewhere(open_job(branch), hosts))
    if begun.issuperset(ranks):
        return False
    shutil.rmtree(branch)
    return True


def _where(plan: Plan) -> str:
    """`event 7`, or of several ranks the first one's."""
    first, *others = plan.ranks.items()
    return f"event {first[1].event}" + (f" of rank {first[0]}" if others else "")


def _say(branch: Path, job: Job, plan: Plan, code: int, hosts: Sequence[str]) -> bool:
    """HOSTS: those that have their ranks' recordings on disks of their own.  Is it a branch?"""
    if _remove_empty(branch, plan.ranks, hosts):  # a rank said why
        if code == INTERRUPTED:
            print("rdb: interrupted before all had begun: there is no branch", file=sys.stderr)
        return False
    _say_copies([branch / f"rank-{rank}" for rank in plan.ranks])
    _say_files(branch)
    print(
        f"rdb: recorded job {branch.name} (a branch of {job.name} at {_where(plan)}, "
        f"exit code {code}); rdb attach {branch.name}",
        file=sys.stderr,
    )
    say_what_may_not_replay(str(branch), branch.name)
    return True
