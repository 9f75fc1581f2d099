"""`rdb restart`: a recorded job runs live again, as a branch of its own recording."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from rdb.cli.run import run_foreground
from rdb.errors import Unsupported
from rdb.launch.command import chosen_mpi, mpirun_environment, restart_line
from rdb.launch.limits import check_limit
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.plan import Plan, RankPlan, make_plan, plan_lines
from rdb.live.rank import plan_line, write_plan
from rdb.private import opener
from rdb.recording import Job, open_job


def restart_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    mpi = chosen_mpi(args.mpi)
    plan = make_plan(job, args.rank, args.at)
    for rank, one in plan.ranks.items():
        for text in one.recording.cautions:
            print(f"rdb: rank {rank}, {text}", file=sys.stderr)
    if args.plan:
        print("\n".join(plan_lines(plan)))
        return 0
    launcher = "mpirun" if plan.launched else "none"
    place = Where(min(plan.ranks), len(plan.ranks) if plan.launched else None, launcher, None)
    cut = {rank: one.event for rank, one in plan.ranks.items()}
    branch = make_branch(job, cut, place, args.name, args.in_place)
    common = _options(args)
    write_plan(
        branch,
        {
            rank: {
                "argv": [str(word) for word in one.recording.meta["argv"]],
                "cwd": str(one.recording.meta.get("cwd", "/")),
                "mpi": mpi,
                "options": [*_rank_options(branch, rank, one), *common],
            }
            for rank, one in plan.ranks.items()
        },
    )
    code = _run(plan, branch, mpi)
    _say(Path(branch), job, plan, code)
    return code


def _run(plan: Plan, branch: str, mpi: str | None) -> int:
    if plan.launched:
        line = restart_line(len(plan.ranks), branch, mpi)
        print(f"rdb: {shlex.join(line)}", file=sys.stderr)
        return run_foreground(line, mpirun_environment())
    line, directory = plan_line(branch, next(iter(plan.ranks)))
    try:
        os.chdir(directory)
    except OSError as error:
        raise Unsupported(f"{directory}, where it ran: {error.strerror}") from error
    return run_foreground(line, os.environ)


def _options(args: argparse.Namespace) -> list[str]:
    options = ["--in-place"] if args.in_place else []
    options += [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    return options


def _rank_options(branch: str, rank: int, plan: RankPlan) -> list[str]:
    options = ["--restart", str(plan.recording.path), "--at", str(plan.event)]
    options += ["--checkpoint", str(plan.image)]
    if plan.sends:
        path = os.path.join(branch, f"in-flight-{rank}")
        with open(path, "x", encoding="ascii", opener=opener) as file:
            file.writelines(f"{event} {which}\n" for event, which in plan.sends)
        options += ["--in-flight", path]
    return options


def _say(branch: Path, job: Job, plan: Plan, code: int) -> None:
    folders = [branch / f"rank-{rank}" for rank in plan.ranks]
    if not all((folder / "log-000000.seg").exists() for folder in folders):  # one said why
        import shutil

        shutil.rmtree(branch)
        return
    for folder in folders:
        for copy in sorted(folder.glob("file-*")):
            print(f"rdb: {copy.name.split('-', 2)[2]} went on as {copy}", file=sys.stderr)
    where = ", ".join(str(one.event) for one in plan.ranks.values())
    print(
        f"rdb: recorded job {branch.name} (a branch of {job.name} at event {where}, "
        f"exit code {code}); rdb attach {branch.name}",
        file=sys.stderr,
    )
