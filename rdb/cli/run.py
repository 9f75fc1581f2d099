"""`rdb run`: record a job, alone or through mpirun, and say at the end what it is called."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from rdb.errors import CannotExecute, Usage
from rdb.launch.command import mpirun_environment, mpirun_line, rdb_exec_line
from rdb.launch.limits import check_limit
from rdb.launch.newjob import create_job, rank_directory
from rdb.launch.program import find_program
from rdb.launch.where import Where
from rdb.recording import Job
from rdb.recording.checkpoints import has_image


def run_command(args: argparse.Namespace) -> int:
    words: list[str] = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not words:
        raise Usage("run: no program", "rdb run [-n N] -- PROG ARGS")
    if args.launcher_arg and args.n is None:
        raise Usage("run: --launcher-arg needs -n")
    program = find_program(words[0])
    if args.n is None:
        place = Where(0, None, "none", None)
    else:
        place = Where(0, args.n, "mpirun", None)
    job = create_job(program, words, place, args.name)
    try:
        line = _line(args, job, program, words[1:])
        if args.n is not None:
            print(f"rdb: {shlex.join(line)}", file=sys.stderr)
        code = _run(line, mpirun_environment() if args.n is not None else os.environ)
    except BaseException:
        if not _recorded_ranks(job):
            shutil.rmtree(job, ignore_errors=True)
        raise
    ranks = _recorded_ranks(job)
    name = os.path.basename(job)
    if not ranks:
        shutil.rmtree(job, ignore_errors=True)
        print("rdb: nothing was recorded", file=sys.stderr)
        return code
    processes = sum(1 for _ in Job(Path(job)).processes())
    what = f"{ranks} rank{'s' if ranks > 1 else ''}"
    what += f", {processes} processes" if processes > ranks else ""
    what += f", exit code {code}"
    print(f"rdb: recorded job {name} ({what}); rdb attach {name}", file=sys.stderr)
    return code


def _line(args: argparse.Namespace, job: str, program: str, arguments: Sequence[str]) -> list[str]:
    if args.n is None:
        files = os.path.join(job, "files")
        directory = rank_directory(job, 0)
        return rdb_exec_line(directory, files, 0, program, arguments, _options(args))
    rest = _options(args)
    return mpirun_line(args.n, args.launcher_arg, job, [*rest, "--", program, *arguments])


def _options(args: argparse.Namespace) -> list[str]:
    """What rdb exec and rdb-exec are told alike."""
    options = [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (("--checkpoint-every", args.checkpoint_every), ("--keep", args.keep)):
        options += [] if value is None else [option, check_limit(option, value)]
    options += ["--lax"] if args.lax else []
    options += ["--no-children"] if args.no_children else []
    options += ["--cpu", args.cpu] if args.cpu else []
    return options


def _recorded_ranks(job: str) -> int:
    """Ranks that got as far as event 0, where the first image is taken."""
    return sum(has_image(rank) for rank in Path(job).glob("rank-*"))


def _run(line: Sequence[str], env: Mapping[str, str]) -> int:
    """Runs it in the foreground: the terminal's signals go to it, and so do those sent to us."""
    child: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        if child is not None:
            child.send_signal(number)

    def leave(number: int, frame: FrameType | None) -> None:
        """Ctrl-C reaches the child by itself; we wait for what it makes of it."""

    before = {
        number: signal.signal(number, action)
        for number, action in (
            (signal.SIGINT, leave),
            (signal.SIGQUIT, leave),
            (signal.SIGTERM, forward),
            (signal.SIGHUP, forward),
        )
    }
    try:
        try:
            child = subprocess.Popen(line, env=dict(env))
        except OSError as error:
            raise CannotExecute(f"{line[0]}: {error.strerror}") from error
        code = child.wait()
    finally:
        for number, action in before.items():
            signal.signal(number, action)
    return 128 - code if code < 0 else code
