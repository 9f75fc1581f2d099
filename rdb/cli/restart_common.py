"""What restarts from a log and from a checkpoint have in common."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from rdb.cli.run import run_foreground
from rdb.coordinate.centre import is_apart
from rdb.environment import for_rdb_exec
from rdb.errors import Unsupported, Usage
from rdb.launch.command import launched_mpi, restart_mpi
from rdb.launch.limits import check_limit
from rdb.launch.placement import Placement, launch, placement
from rdb.live.files.file_order import copies
from rdb.live.files.later_files import later_copies
from rdb.live.rank import plan_line
from rdb.recording import Job, open_job


def asked_placement(
    args: argparse.Namespace, nranks: int, launched: bool, mpi: str | None
) -> Placement:
    if args.n is not None and args.n != nranks:
        raise Usage(
            f"-n {args.n}: the job has {nranks} ranks, and so have restarts of its recording",
            "--hosts FILE places them on other hosts; a job with --record=off can go on with "
            "another number (docs/checkpoint.md)",
        )
    if not launched and (args.hosts or args.launcher):
        raise Usage(
            "--hosts, --launcher: the job has one rank and no MPI: no launcher starts it",
            "drop the option",
        )
    return placement(nranks, args.launcher, args.hosts, mpi)


def mpi_from_now(args: argparse.Namespace, job: Job, launched: bool) -> str | None:
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


def say_lost(lost: list[str]) -> None:
    for line in lost:
        print(f"rdb: {line}", file=sys.stderr)


def say_copies(branch: Path, ranks: Iterable[int]) -> None:
    for rank in ranks:
        for copy in sorted((branch / f"rank-{rank}").glob("file-*")):
            print(f"rdb: {copy.name.split('-', 2)[2]} went on as {copy}", file=sys.stderr)


def say_files(branch: Path) -> None:
    for copy in [*copies(branch), *later_copies(branch)]:
        print(f"rdb: {copy.name.split('-', 1)[1]} went on as {copy}", file=sys.stderr)


def prepared(
    branch: str,
    hosts: Sequence[str],
    pack: Path | None,
    job: Job,
    copies: Callable[[Sequence[str]], Mapping[Path, str]] = lambda _: {},
) -> AbstractContextManager[bool]:
    """As rdb.agents.preparing.prepared_hosts()."""
    if not hosts:
        return nullcontext(False)
    from rdb.agents.preparing import prepared_hosts  # late imports, here and below: asyncio

    return prepared_hosts(open_job(branch), hosts, pack, job, copies)


def enter(directory: str) -> None:
    """Unsupported: the directory that the job ran in cannot be entered."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise Unsupported(f"the job's directory {directory}: {error.strerror}") from error


def run_branch(branch: str, asked: Placement, launched: bool, rank: int) -> int:
    """RANK: the job's only rank, if no launcher starts it."""
    if launched:
        line, env = launch(asked, branch, ["exec", "--restart", branch])
        print(f"rdb: {shlex.join(line)}", file=sys.stderr)
        return run_foreground(line, env, branch)
    line, directory = plan_line(branch, rank)
    enter(directory)
    return run_foreground(line, for_rdb_exec(os.environ))


def options_of(args: argparse.Namespace) -> list[str]:
    options = [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    return options + ([] if args.check is None else ["--check", args.check])


def has_begun(branch: Path, rank: int) -> bool:
    return (branch / f"rank-{rank}/log-000000.seg").exists()


def remove_empty(branch: Path, ranks: Collection[int], hosts: Sequence[str]) -> bool:
    """Removes a branch in which a rank has not begun.  HOSTS: hosts with their own disks."""
    begun = {rank for rank in ranks if has_begun(branch, rank)}
    if hosts:
        from rdb.agents.preparing import recorded_elsewhere

        begun.update(recorded_elsewhere(open_job(branch), hosts))
    if begun.issuperset(ranks):
        return False
    if hosts:
        from rdb.agents.preparing import remove_everywhere

        remove_everywhere(open_job(branch))
    else:
        shutil.rmtree(branch)
    return True


@contextmanager
def removed_unless_begun(
    branch: Path, ranks: Collection[int], hosts: Sequence[str]
) -> Iterator[None]:
    """Removes the branch if the start fails or is interrupted before all ranks have begun.

    Not if a rank has recorded something on one of HOSTS, which have disks of their own.
    """
    try:
        yield
    except BaseException:
        if not is_apart(branch):
            remove_empty(branch, ranks, ())
        else:
            from rdb.agents.preparing import recorded_anywhere

            if not recorded_anywhere(open_job(branch), hosts):
                shutil.rmtree(branch)
        raise


def code_of_none(code: int) -> int:
    """The exit code when there is no branch.

    A rank has printed the reason. 0, 1 and 9 are not its codes but the launcher's for ranks that
    leave before MPI_Finalize (MPICH: 0, 1 or 9, depending on what it hears first).
    """
    return Unsupported.exit_code if code in (0, 1, 9) else code
