"""`rdb restart`: a recorded job runs live again, as a branch of its own recording."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdb.agents.preparing import (
    copies_elsewhere,
    prepared_hosts,
    recorded_anywhere,
    recorded_elsewhere,
    remove_everywhere,
)
from rdb.cli.carrying import carried
from rdb.cli.expand import expand_if_needed
from rdb.cli.parser import dispatch
from rdb.cli.run import INTERRUPTED, run_foreground, say_what_may_not_replay
from rdb.coordinate.centre import is_apart
from rdb.coordinate.coordinated import Together, choose_whole, none_taken, unrecorded
from rdb.coordinate.newest import newest_with_checkpoint
from rdb.environment import for_rdb_exec
from rdb.errors import Unsupported, Usage
from rdb.launch.command import launched_mpi, restart_mpi
from rdb.launch.hca import SOFT_DEVICE, hca_options
from rdb.launch.limits import check_limit
from rdb.launch.newjob import writing
from rdb.launch.placement import Placement, launch, placed_lines, placement
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.files import lives
from rdb.live.files.apart_files import homes
from rdb.live.files.file_order import copies, write_files
from rdb.live.files.later_files import give_nothing, later_copies, write_later
from rdb.live.files.rolled_back import finish, roll_back
from rdb.live.files.undone import go_on_with_copies, undone
from rdb.live.from_checkpoint import alone_in_place, needs_launcher, prepare
from rdb.live.from_checkpoint import plan_lines as lines_of
from rdb.live.plan import Plan, RankPlan, make_plan, plan_lines
from rdb.live.rank import plan_line, write_plan
from rdb.live.redistributed import write_arrays
from rdb.live.sockets import uses_sockets
from rdb.live.tree.plan import write_tree
from rdb.live.until_damage import until_damage
from rdb.private import opener
from rdb.recording import Job, open_job
from rdb.recording.stored import check_all_stored

_OF_RUN = (
    *("name", "mpi", "hca", "launcher", "hosts"),
    *("check", "hash_every", "checkpoint_every", "keep"),
)


def restart_command(args: argparse.Namespace) -> int:
    asked = open_job(args.job)
    if args.at is None and not asked.packed and unrecorded(asked):
        newest = newest_with_checkpoint(asked, args.in_place)
        if newest.path != asked.path:
            print(
                f"rdb: {newest.name} is the newest that went on from {asked.name}", file=sys.stderr
            )
        asked = newest
    with carried(asked, args) as (job, pack):
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
    plan = make_plan(job, args.rank, args.at)
    mpi = _mpi(args, job, plan.launched)
    check_all_stored(job.path / "files")
    _say_lost(plan.lost)
    for rank, one in plan.ranks.items():
        for text in one.recording.cautions:
            print(f"rdb: rank {rank}, {text}", file=sys.stderr)
    _say_left(plan, args.in_place)
    asked = _placement(args, len(plan.ranks), plan.launched, mpi)
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
        with _removed_unless_begun(Path(branch), plan.ranks, asked.names):
            code, apart, there = _go_on(job, args, pack, plan, asked, branch, mpi, common)
    if not _say(Path(branch), job, plan, code, asked.names if apart else (), args.in_place):
        return _code_of_none(code)
    if there:
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

    with prepared_hosts(open_job(branch), hosts, pack, job, copies_on) as apart:
        return _run(branch, asked, plan.launched, next(iter(plan.ranks))), apart, there


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


@contextmanager
def _removed_unless_begun(
    branch: Path, ranks: Collection[int], hosts: Sequence[str]
) -> Iterator[None]:
    """Removes the branch if the start fails or is interrupted before all ranks have begun.

    Not if a rank has recorded something on one of HOSTS, which have disks of their own.
    """
    try:
        yield
    except BaseException:
        if not is_apart(branch):
            _remove_empty(branch, ranks, ())
        elif not recorded_anywhere(open_job(branch), hosts):
            shutil.rmtree(branch)
        raise


def _placement(args: argparse.Namespace, nranks: int, launched: bool, mpi: str | None) -> Placement:
    if args.n is not None and args.n != nranks:
        raise Usage(
            f"-n {args.n}: the job has {nranks} ranks, and its restarts must have as many",
            "--hosts FILE places them on other hosts",
        )
    if not launched and (args.hosts or args.launcher):
        raise Usage(
            "--hosts, --launcher: the job has one rank and no MPI: no launcher starts it",
            "drop the option",
        )
    return placement(nranks, args.launcher, args.hosts, mpi)


def _from_checkpoint(job: Job, args: argparse.Namespace, pack: Path | None) -> int:
    """Restarts a job that ran without a log, from a checkpoint that all its ranks have."""
    common = _options(args)
    check_all_stored(job.path / "files")
    one, lost = choose_whole(job, args.at)
    _say_lost(lost)
    if args.n is not None and args.n != one.nranks:
        return _with_other_ranks(job, one, args)
    launched = needs_launcher(job, one)
    mpi = _mpi(args, job, launched)
    asked = _placement(args, one.nranks, launched, mpi)
    if args.plan:
        later = undone(job, one).later
        print("\n".join([*lines_of(job, one), *later.lines(), *placed_lines(asked)]))
        _say_lost([*later.left, *([] if args.in_place else later.linked), *later.refused])
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
            _removed_unless_begun(Path(branch), range(one.nranks), asked.names),
            prepared_hosts(open_job(branch), hosts, pack, job) as apart,
        ):
            _roll_back(job, one, branch, args.in_place, apart)
            code = _run(branch, asked, launched, 0)
    kept = apart and args.record != "full"  # without a log nothing shows that a rank has begun
    if not kept and _remove_empty(Path(branch), range(one.nranks), asked.names if apart else ()):
        return _code_of_none(code)
    if not args.in_place:
        _say_copies(Path(branch), range(one.nranks))
    _say_files(Path(branch))
    if args.record != "full":
        _say_lost([line for line in [none_taken(Path(branch))] if line])
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
    args.mpi = _mpi(args, job, True)
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
        directory = str(programs[0].get("cwd", "/"))
        try:
            os.chdir(directory)
        except OSError as error:
            raise Unsupported(f"the job's directory {directory}: {error.strerror}") from error
        return dispatch([*line, "--", *(str(word) for word in programs[0]["argv"])])


def _mpi(args: argparse.Namespace, job: Job, launched: bool) -> str | None:
    """The MPI to go on with: the job's own, unless the user names another or it is not here."""
    before = str(job.rank(job.ranks[0]).meta.get("mpi", ""))
    mpi = restart_mpi(args.mpi, before, launched and args.launcher != "srun")
    now = launched_mpi(mpi) if launched and before else before
    if now != before:
        print(
            f"rdb: the job ran over {before} and goes on over {now}: limits that the program has"
            " asked for (such as the largest tag) may be lower, and reductions may round otherwise",
            file=sys.stderr,
        )
    return mpi


@contextmanager
def _noted_unless_begun(job: Job, one: Together, branch: str) -> Iterator[None]:
    """Notes that a branch in which no rank has begun has not changed the job's files."""
    try:
        yield
    finally:
        newest = lives.went_on(job.path)
        here = newest is not None and newest.path == Path(branch)
        if here and not any(_has_begun(Path(branch), rank) for rank in range(one.nranks)):
            lives.note(job.path, one.number, None)


def _roll_back(job: Job, one: Together, branch: str, in_place: bool, apart: bool) -> None:
    """Files that the job has changed after the checkpoint are as they were, for the branch.

    APART: its hosts have no common disk. Unsupported: a file was not kept for lack of room.
    """
    if job.packed or apart or is_apart(job.path):
        why = "a pack does not hold them" if job.packed else "its hosts have no common disk"
        _say_lost([f"files that the job had closed at the checkpoint are as they are now: {why}"])
        return
    for path in lives.of_same_files(job.path):
        _say_lost(finish(path))
    found = undone(job, one)
    _say_lost(found.later.left + ([] if in_place else found.later.linked))
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
        _say_lost(roll_back(found, job.path, one.number, branch))
    else:
        go_on_with_copies(found, branch, one.nranks)


def _say_lost(lost: list[str]) -> None:
    for line in lost:
        print(f"rdb: {line}", file=sys.stderr)


def _say_copies(branch: Path, ranks: Iterable[int]) -> None:
    for rank in ranks:
        for copy in sorted((branch / f"rank-{rank}").glob("file-*")):
            print(f"rdb: {copy.name.split('-', 2)[2]} went on as {copy}", file=sys.stderr)


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


def _say_files(branch: Path) -> None:
    for copy in [*copies(branch), *later_copies(branch)]:
        print(f"rdb: {copy.name.split('-', 1)[1]} went on as {copy}", file=sys.stderr)


def _run(branch: str, asked: Placement, launched: bool, rank: int) -> int:
    """RANK: the job's only rank, if no launcher starts it."""
    if launched:
        line, env = launch(asked, branch, ["exec", "--restart", branch])
        print(f"rdb: {shlex.join(line)}", file=sys.stderr)
        return run_foreground(line, env, branch)
    line, directory = plan_line(branch, rank)
    try:
        os.chdir(directory)
    except OSError as error:
        raise Unsupported(f"the job's directory {directory}: {error.strerror}") from error
    return run_foreground(line, for_rdb_exec(os.environ))


def _options(args: argparse.Namespace) -> list[str]:
    options = [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    return options + ([] if args.check is None else ["--check", args.check])


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


def _has_begun(branch: Path, rank: int) -> bool:
    return (branch / f"rank-{rank}/log-000000.seg").exists()


def _remove_empty(branch: Path, ranks: Collection[int], hosts: Sequence[str]) -> bool:
    """Removes a branch in which a rank has not begun.  HOSTS: hosts with their own disks."""
    begun = {rank for rank in ranks if _has_begun(branch, rank)}
    if hosts:
        begun.update(recorded_elsewhere(open_job(branch), hosts))
    if begun.issuperset(ranks):
        return False
    if hosts:
        remove_everywhere(open_job(branch))
    else:
        shutil.rmtree(branch)
    return True


def _code_of_none(code: int) -> int:
    """The exit code when there is no branch.

    A rank has printed the reason. 0, 1 and 9 are not its codes but the launcher's for ranks that
    leave before MPI_Finalize (MPICH: 0, 1 or 9, depending on what it hears first).
    """
    return Unsupported.exit_code if code in (0, 1, 9) else code


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
    if _remove_empty(branch, plan.ranks, hosts):  # a rank has printed the reason
        if code == INTERRUPTED:
            print(
                "rdb: interrupted before all ranks had started: there is no branch", file=sys.stderr
            )
        return False
    if not in_place:
        _say_copies(branch, plan.ranks)
    _say_files(branch)
    print(
        f"rdb: recorded job {branch.name} (a branch of {job.name} at {_where(plan)}, "
        f"exit code {code}); rdb attach {branch.name}",
        file=sys.stderr,
    )
    say_what_may_not_replay(str(branch), branch.name)
    return True
