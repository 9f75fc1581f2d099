"""`rdb restart`: a recorded program runs live again, as a branch of its own recording."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rdb.cli.run import run_foreground
from rdb.errors import RdbError, Unsupported
from rdb.launch.command import rdb_exec_line
from rdb.launch.limits import check_limit
from rdb.launch.newjob import rank_directory
from rdb.launch.where import Where
from rdb.live.branch import make_branch
from rdb.live.cut import cut_event
from rdb.live.world import start_image
from rdb.recording import Job, RankRecording, open_job


def restart_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    if len(job.ranks) != 1:
        raise RdbError(f"{job.name} has {len(job.ranks)} ranks: only one can be restarted so far")
    recording = job.rank(job.ranks[0])
    cut = cut_event(recording, args.at)
    image = start_image(recording, cut)
    for text in recording.cautions:
        print(f"rdb: rank {recording.name}, {text}", file=sys.stderr)
    if args.plan:
        print(f"rank {recording.name}: replay from checkpoint {image} to event {cut}, then live")
        return 0
    return _restart(args, job, recording, cut, image)


def _restart(
    args: argparse.Namespace, job: Job, recording: RankRecording, cut: int, image: int
) -> int:
    directory = str(recording.meta.get("cwd", "/"))
    place = Where(recording.rank, None, "none", None)
    branch = make_branch(job, {recording.rank: cut}, place, args.name, args.in_place)
    options = ["--restart", str(recording.path), "--at", str(cut), "--checkpoint", str(image)]
    options += ["--in-place"] if args.in_place else []
    options += [] if args.hash_every is None else ["--hash-every", args.hash_every]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    program, *arguments = [str(word) for word in recording.meta["argv"]]
    line = rdb_exec_line(
        rank_directory(branch, recording.rank),
        os.path.join(branch, "files"),
        recording.rank,
        program,
        arguments,
        options,
    )
    try:
        os.chdir(directory)
    except OSError as error:
        raise Unsupported(f"{directory}, where it ran: {error.strerror}") from error
    code = run_foreground(line, os.environ)
    _say(Path(branch), job, recording.rank, cut, code)
    return code


def _say(branch: Path, job: Job, rank: int, cut: int, code: int) -> None:
    folder = branch / f"rank-{rank}"
    if not (folder / "log-000000.seg").exists():  # it said why
        import shutil

        shutil.rmtree(branch)
        return
    for copy in sorted(folder.glob("file-*")):
        print(f"rdb: {copy.name.split('-', 2)[2]} went on as {copy}", file=sys.stderr)
    print(
        f"rdb: recorded job {branch.name} (a branch of {job.name} at event {cut}, "
        f"exit code {code}); rdb attach {branch.name}",
        file=sys.stderr,
    )
