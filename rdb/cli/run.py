"""`rdb run`: records a job, alone or through mpirun, and prints its name at the end.

It runs beside every program recorded by hand, so a module is imported only when needed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType, SimpleNamespace

from rdb.environment import for_rdb_exec
from rdb.errors import CannotExecute, RdbError, Unsupported, Usage
from rdb.launch import inherited
from rdb.launch.command import (
    chosen_mpi,
    exec_words,
    mpirun_environment,
    mpirun_line,
    rdb_exec_line,
)
from rdb.launch.hca import hca_options
from rdb.launch.limits import check_limit, check_record, write_kept_budget
from rdb.launch.mpi import is_hydra
from rdb.launch.newjob import create_job, rank_directory
from rdb.launch.program import find_program, look_up
from rdb.launch.programs import Started, programs
from rdb.launch.recorded import have_cautions, recorded_processes, recorded_ranks
from rdb.launch.where import Where

TYPE_CHECKING = False  # of `typing`, which costs 4 ms with what it imports
if TYPE_CHECKING:
    from rdb.launch.placement import Placement
    from rdb.recording.log.record import End


def plain_arguments(arguments: Sequence[str]) -> SimpleNamespace | None:
    """The parsed form of `[OPTIONS] -- PROG ARGS`, with the usual options in this order:
    `--name NAME`, `-n N`, `--record=order|lean`, `--hca=WHICH`, `--mpi=NAME`.

    This usual case avoids argparse, which costs 20 ms. None: ARGUMENTS have another form.
    """
    rest, name, ranks, hca, mpi, record = list(arguments), None, None, None, None, "full"
    if rest[:1] == ["--name"] and len(rest) > 1 and not rest[1].startswith("-"):
        name = rest[1]
        rest = rest[2:]
    if rest[:1] == ["-n"] and len(rest) > 1 and rest[1].isdigit() and int(rest[1]) > 0:
        ranks = int(rest[1])
        rest = rest[2:]
    if rest[:1] in (["--record=order"], ["--record=lean"]):
        record = rest.pop(0)[len("--record=") :]
    if rest and rest[0].startswith("--hca="):
        hca = rest.pop(0)[len("--hca=") :]
    if rest and rest[0].startswith("--mpi="):
        mpi = rest.pop(0)[len("--mpi=") :]
    if rest[:1] != ["--"]:
        return None
    unset = (
        *("hash_every", "check", "checkpoint_every", "keep", "log_budget", "kept_budget", "slice"),
        *("cpu", "mtbf", "hosts", "launcher"),
    )
    flags = dict.fromkeys(("chaos", "lax", "no_children"), False)
    asked = {"name": name, "n": ranks, "record": record, "hca": hca, "mpi": mpi}
    return SimpleNamespace(**dict.fromkeys(unset), **flags, **asked, launcher_arg=[], program=rest)


def run_command(args: SimpleNamespace) -> int:
    words: list[str] = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not words:
        raise Usage("run: no program", "rdb run [-n N] -- PROG ARGS")
    if args.launcher_arg and args.n is None:
        raise Usage("run: --launcher-arg needs -n")
    if (args.hosts or args.launcher) and args.n is None:
        raise Usage("run: --hosts and --launcher need -n")
    if args.n is None:
        program, started = find_program(words[0]), []
        place = Where(0, None, "none")
    else:
        started = programs(args.n, words)
        program = started[0].program
        args.n = sum(one.ranks for one in started)
        place = Where(0, args.n, args.launcher or "mpirun")
    if args.n is None and _launches(words):
        print(
            f"rdb: this records {words[0]} and what it starts as one rank; "
            f"for a job of ranks: rdb run -n N -- PROG, or {words[0]} ... rdb exec -- PROG",
            file=sys.stderr,
        )
    asked = _placement(args)
    hosts = asked.names if asked else ()
    job = create_job(program, words, place, args.name, hosts=hosts, record=args.record != "off")
    try:
        if args.kept_budget is not None:
            write_kept_budget(job, args.kept_budget)
        if asked is not None and asked.by_ssh:
            from rdb.agents.preparing import prepared_hosts
            from rdb.recording import open_job

            with prepared_hosts(open_job(job), asked.names) as apart:
                code = _launched(args, asked, job, started, words)
        else:
            apart = False
            code = _launched(args, asked, job, started, words)
    except BaseException:
        if not recorded_ranks(job) and not (hosts and _anywhere(job, hosts)):
            _remove(job)
        raise
    name = os.path.basename(job)
    if args.record == "off":
        return _unrecorded(job, name, code, asked.names if apart and asked else ())
    ranks = recorded_ranks(job)
    if apart and asked is not None:
        ranks += _elsewhere(job, asked.names)
    if not ranks:
        _remove(job)
        print(f"rdb: nothing was recorded{_too_large(code)}", file=sys.stderr)
        return code
    processes = recorded_processes(job)
    what = f"{ranks} rank{'s' if ranks > 1 else ''}"
    what += f", {processes} processes" if processes > ranks else ""
    what += f", exit code {code}"
    print(f"rdb: recorded job {name} ({what}); rdb attach {name}", file=sys.stderr)
    say_what_may_not_replay(job, name)
    return code


def _too_large(code: int) -> str:
    if code != 128 + signal.SIGXFSZ:
        return ""
    return ": its log reached the limit for a file's size (ulimit -f)"


def say_what_may_not_replay(job: str, name: str) -> None:
    """Prints what may not replay, if anything.  NAME: the job, as its user calls it."""
    if not have_cautions(job):
        return
    from rdb.recording import open_job
    from rdb.recording.cautions import what_to_know

    try:
        lines = what_to_know(open_job(job))
    except RdbError as error:
        lines = [f"cannot say what may not replay: {error.message}"]
    for line in lines:
        print(f"rdb: {line}; rdb info {name} says where", file=sys.stderr)


_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "srun")


def _launches(words: Sequence[str]) -> bool:
    """Whether the program starts ranks that are not under `rdb exec`."""
    name = os.path.basename(words[0]).partition(".")[0]  # mpirun.openmpi, for example
    return name in _LAUNCHERS and "exec" not in words


def _elsewhere(job: str, hosts: Sequence[str]) -> int:
    from rdb.agents.preparing import recorded_elsewhere
    from rdb.recording import open_job

    return len(recorded_elsewhere(open_job(job), hosts))


def _anywhere(job: str, hosts: Sequence[str]) -> bool:
    from rdb.agents.preparing import recorded_anywhere
    from rdb.recording import open_job

    return bool(recorded_anywhere(open_job(job), hosts))


def _placement(args: SimpleNamespace) -> Placement | None:
    if not args.hosts and not args.launcher:
        return None
    from rdb.launch.placement import placement

    return placement(args.n, args.launcher, args.hosts, args.mpi, args.launcher_arg)


def _launched(
    args: SimpleNamespace,
    asked: Placement | None,
    job: str,
    started: Sequence[Started],
    typed: Sequence[str],
) -> int:
    """Runs the program or the job's ranks; returns the exit code."""
    line, env = _line(args, asked, job, started, typed)
    if args.n is None:
        return run_foreground(line, env)
    import shlex

    print(f"rdb: {shlex.join(line)}", file=sys.stderr)
    return run_foreground(line, env, job)


def _line(
    args: SimpleNamespace,
    asked: Placement | None,
    job: str,
    started: Sequence[Started],
    typed: Sequence[str],
) -> tuple[list[str], Mapping[str, str]]:
    called, *arguments = typed
    if args.n is None:
        files = os.path.join(job, "files")
        directory = rank_directory(job, 0)
        # peers may be processes of another job: they share the store's key
        options = [*_options(args), *hca_options(args.hca, os.path.dirname(job))]
        if args.record == "off":
            from rdb.coordinate.joining import checkpoints_options

            options += checkpoints_options(job, 0, 1)
        options += ["--exe", look_up(called)]
        line = rdb_exec_line(directory, files, 0, called, arguments, options, args.mpi)
        return line, for_rdb_exec(os.environ)
    options = _options(args)
    options += ["--hca", args.hca] if args.hca else []
    mpi = asked.mpi if asked else chosen_mpi(args.mpi)
    options = ["--job", job, *(["--mpi", mpi] if mpi else []), *options]
    parts = [
        # other hosts may have another PATH
        (one.ranks, one.extra, exec_words(one, options, one.program if asked else one.called))
        for one in started
    ]
    if asked is None:
        return mpirun_line(parts, mpi, args.launcher_arg), mpirun_environment()
    from rdb.launch.placement import launch_all

    return launch_all(asked, job, parts, ["RDB_HOME", "RDB_HCA", "RDB_REDISTRIBUTED"])


def _options(args: SimpleNamespace) -> list[str]:
    """Options that `rdb exec` and rdb-exec have in common."""
    if args.mtbf is not None and args.checkpoint_every != "auto":
        raise Usage("run: --mtbf SECONDS is for --checkpoint-every auto")
    check_record(args.record, args.keep is not None, args.chaos)
    options = [] if args.hash_every is None else ["--hash-every", str(args.hash_every)]
    for option, value in (
        ("--checkpoint-every", args.checkpoint_every),
        ("--keep", args.keep),
        ("--log-budget", args.log_budget),
    ):
        if option == "--checkpoint-every" and value == "auto":
            if args.record != "off" or args.mtbf is None:
                raise Usage("run: --checkpoint-every auto needs --record=off and --mtbf SECONDS")
            options += ["--mtbf", str(args.mtbf)]
            continue
        options += [] if value is None else [option, check_limit(option, value)]
    options += [] if args.slice is None else ["--slice", str(args.slice)]
    options += ["--chaos"] if args.chaos else []
    options += [] if args.check is None else ["--check", args.check]
    if args.record in ("order", "lean") or (args.record == "off" and args.n is not None):
        options += [f"--record={args.record}"]
    options += ["--lax"] if args.lax else []
    options += ["--no-children"] if args.no_children else []
    options += ["--cpu", args.cpu] if args.cpu else []
    return options


def _unrecorded(job: str, name: str, code: int, hosts: Sequence[str]) -> int:
    """Says how a job without a log ended.  HOSTS: hosts that do not see the job's directory."""
    from rdb.coordinate.centre import checkpoints_of, finish_checkpoint

    finish_checkpoint(job)
    numbers = checkpoints_of(job)
    if hosts:
        from rdb.agents.gathering import checkpoints_elsewhere
        from rdb.recording import open_job

        numbers = checkpoints_elsewhere(open_job(job), hosts)
    if not numbers:
        from pathlib import Path

        from rdb.coordinate.coordinated import none_taken

        line = none_taken(Path(job))
        if line:
            print(f"rdb: job {name} ended with exit code {code}; {line}", file=sys.stderr)
        _remove(job)
        return code
    print(
        f"rdb: job {name} ended with exit code {code}; its newest checkpoint is {numbers[-1]}; "
        f"rdb restart {name}",
        file=sys.stderr,
    )
    return code


def _remove(job: str) -> None:
    import shutil

    shutil.rmtree(job, ignore_errors=True)


INTERRUPTED = 128 + signal.SIGINT
_ENDED_BY_LAUNCHER = (1, 2)
"""Exit codes of mpirun after it has ended its ranks at Ctrl-C: Open MPI's 1, MPICH's signal
number."""


def _ends(job: str) -> list[End | None]:
    """How the ranks ended, by their logs; None for a rank whose log does not say."""
    from rdb.recording import open_job

    found = open_job(job)
    ends: list[End | None] = []
    for rank in found.ranks:
        try:
            ends.append(found.rank(rank).glance().end)  # cheap for a large log, too
        except RdbError:  # no log, or an unreadable one
            ends.append(None)
    return ends


def _code_of_job(job: str, launcher: str, code: int, interrupted: bool) -> int:
    """The exit code of the job, from CODE, the launcher's.

    A launcher's code does not tell Ctrl-C from a failed program, and MPICH's mpiexec may return 0,
    1 or 9 for a rank that leaves without MPI_Finalize.  The 0 of others says that each rank's code
    is 0; then the logs, whose reader takes as long to import as all of `rdb run`, are not read.
    """
    if interrupted and code in _ENDED_BY_LAUNCHER:
        return INTERRUPTED
    if not interrupted and (
        code == Unsupported.exit_code or (code == 0 and not is_hydra(launcher))
    ):
        return code
    from rdb.recording.log.record import EndKind

    ends = _ends(job)
    # MPICH's mpiexec, if it notices Ctrl-C late, returns 0 or 9 for the ranks that it ended.
    if interrupted and any(end is None or end.kind is EndKind.SIGNAL for end in ends):
        return INTERRUPTED
    by_rdb = (end.value for end in ends if end and end.kind is EndKind.UNSUPPORTED)
    return next(by_rdb, code)


_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


def _in_foreground() -> bool:
    """Whether we are in a terminal's foreground group, to which the terminal sends its signals."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def run_foreground(line: list[str], env: Mapping[str, str], launched: str | None = None) -> int:
    """Runs LINE in the foreground and returns its exit code (128 + N for signal N).

    Signals from the terminal reach the child directly; those sent to us are forwarded. LAUNCHED:
    the job whose ranks LINE launches; the exit code is that of the job. CannotExecute: LINE cannot
    run.
    """
    child: int | None = None
    interrupted = False

    def forward(number: int, frame: FrameType | None) -> None:
        if child is not None:
            os.kill(child, number)

    def leave(number: int, frame: FrameType | None) -> None:
        """Ctrl-C reaches the child directly; we wait for the child to handle it."""
        nonlocal interrupted
        interrupted = True
        if not _in_foreground():
            forward(number, frame)

    # No signal may arrive before there is a child to forward it to.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    before = {
        number: signal.signal(number, action)
        for number, action in (
            (signal.SIGINT, leave),
            (signal.SIGQUIT, leave),
            *((number, forward) for number in _FORWARDED),
        )
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup: the program ignores it, too
    }
    try:
        try:
            child = inherited.spawn(line, env)
        except OSError as error:
            raise CannotExecute(f"{line[0]}: {error.strerror}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # The zombie keeps its process id until no handler can send to that id.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    finally:
        for number, action in before.items():
            signal.signal(number, action)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 128 - code if code < 0 else code
    return _code_of_job(launched, line[0], code, interrupted) if launched else code
