"""`rdb run`: record a job, alone or through mpirun, and say at the end what it is called.

It runs beside every program recorded by hand, so nothing is imported before it is needed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING

from rdb.coordinate.joining import checkpoints_of, checkpoints_options
from rdb.errors import CannotExecute, RdbError, Usage
from rdb.launch import inherited
from rdb.launch.command import mpirun_environment, mpirun_line, rdb_exec_line
from rdb.launch.hca import hca_options
from rdb.launch.limits import ORDER_HINT, ORDER_NEEDS_ALL, check_limit, write_kept_budget
from rdb.launch.newjob import create_job, rank_directory
from rdb.launch.program import find_program, look_up
from rdb.launch.recorded import have_cautions, recorded_processes, recorded_ranks
from rdb.launch.where import Where

if TYPE_CHECKING:
    from rdb.launch.placement import Placement


def plain_arguments(arguments: Sequence[str]) -> SimpleNamespace | None:
    """What argparse makes of `[-n N] [--record=order] [--hca=WHICH] [--mpi=NAME] -- PROG ARGS`.

    None: of anything else.
    The usual case, without argparse, which costs 20 ms.
    """
    rest, ranks, hca, mpi, record = list(arguments), None, None, None, "full"
    if rest[:1] == ["-n"] and len(rest) > 1 and rest[1].isdigit() and int(rest[1]) > 0:
        ranks = int(rest[1])
        rest = rest[2:]
    if rest[:1] == ["--record=order"]:
        record = rest.pop(0)[len("--record=") :]
    if rest and rest[0].startswith("--hca="):
        hca = rest.pop(0)[len("--hca=") :]
    if rest and rest[0].startswith("--mpi="):
        mpi = rest.pop(0)[len("--mpi=") :]
    if rest[:1] != ["--"]:
        return None
    return SimpleNamespace(
        name=None,
        n=ranks,
        hash_every=None,
        check=None,
        checkpoint_every=None,
        keep=None,
        log_budget=None,
        kept_budget=None,
        slice=None,
        record=record,
        lax=False,
        no_children=False,
        cpu=None,
        hca=hca,
        mpi=mpi,
        mtbf=None,
        launcher_arg=[],
        hosts=None,
        launcher=None,
        program=rest,
    )


def run_command(args: SimpleNamespace) -> int:
    words: list[str] = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not words:
        raise Usage("run: no program", "rdb run [-n N] -- PROG ARGS")
    if args.launcher_arg and args.n is None:
        raise Usage("run: --launcher-arg needs -n")
    if (args.hosts or args.launcher) and args.n is None:
        raise Usage("run: --hosts and --launcher need -n")
    program = find_program(words[0])
    if args.n is None:
        place = Where(0, None, "none", None)
    else:
        place = Where(0, args.n, args.launcher or "mpirun", None)
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
        with _prepared(job, asked) as apart:
            line, env = _line(args, asked, job, program, words)
            if args.n is not None:
                import shlex

                print(f"rdb: {shlex.join(line)}", file=sys.stderr)
            code = run_foreground(line, env, job if args.n is not None else None)
    except BaseException:
        if not recorded_ranks(job):
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
    return ": its log is larger than files may be here (ulimit -f)"


def say_what_may_not_replay(job: str, name: str) -> None:
    """Nothing, where all of its processes will.  NAME: what its user calls it."""
    if not have_cautions(job):
        return
    from rdb.recording import open_job
    from rdb.recording.cautions import may_not_replay

    try:
        lines = may_not_replay(open_job(job))
    except RdbError as error:
        lines = [f"what may not replay is not known: {error.message}"]
    for line in lines:
        print(f"rdb: {line}; rdb info {name} says where", file=sys.stderr)


_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "srun")


def _launches(words: Sequence[str]) -> bool:
    """Does the program start ranks that are not under `rdb exec`?"""
    name = os.path.basename(words[0]).partition(".")[0]  # mpirun.openmpi
    return name in _LAUNCHERS and "exec" not in words


def _prepared(job: str, asked: Placement | None) -> AbstractContextManager[bool]:
    """The job's directory is on hosts that do not see it; were there any?"""
    if asked is None or not asked.by_ssh:
        return nullcontext(False)
    from rdb.agents.preparing import prepared_hosts
    from rdb.recording import open_job

    return prepared_hosts(open_job(job), asked.names)


def _elsewhere(job: str, hosts: Sequence[str]) -> int:
    from rdb.agents.preparing import recorded_elsewhere
    from rdb.recording import open_job

    return len(recorded_elsewhere(open_job(job), hosts))


def _placement(args: SimpleNamespace) -> Placement | None:
    if not args.hosts and not args.launcher:
        return None
    from rdb.launch.placement import placement

    return placement(args.n, args.launcher, args.hosts, args.mpi, args.launcher_arg)


def _line(
    args: SimpleNamespace,
    asked: Placement | None,
    job: str,
    program: str,
    typed: Sequence[str],
) -> tuple[list[str], Mapping[str, str]]:
    called, *arguments = typed
    if args.n is None:
        files = os.path.join(job, "files")
        directory = rank_directory(job, 0)
        # another job's processes may be the peers: they share the store's secret
        options = [*_options(args), *hca_options(args.hca, os.path.dirname(job))]
        if args.record == "off":
            options += checkpoints_options(job, 0, 1)
        options += ["--exe", look_up(called)]
        line = rdb_exec_line(directory, files, 0, called, arguments, options, args.mpi)
        return line, inherited.for_rdb_exec(os.environ)
    rest = _options(args)
    rest += ["--hca", args.hca] if args.hca else []
    words = [*rest, "--", program, *arguments]
    if asked is not None:
        from rdb.launch.placement import launch

        chosen = ["--mpi", asked.mpi] if asked.mpi else []
        return launch(asked, job, ["exec", "--job", job, *chosen, *words], ["RDB_HOME", "RDB_HCA"])
    return mpirun_line(args.n, args.launcher_arg, job, words, args.mpi), mpirun_environment()


def _options(args: SimpleNamespace) -> list[str]:
    """What rdb exec and rdb-exec are told alike."""
    if args.mtbf is not None and args.checkpoint_every != "auto":
        raise Usage("run: --mtbf SECONDS is for --checkpoint-every auto")
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
    options += [] if args.check is None else ["--check", args.check]
    options += ["--record=off"] if args.record == "off" and args.n is not None else []
    if args.record == "order":
        if args.keep is not None:
            raise Usage(ORDER_NEEDS_ALL, ORDER_HINT)
        options += ["--record=order"]
    options += ["--lax"] if args.lax else []
    options += ["--no-children"] if args.no_children else []
    options += ["--cpu", args.cpu] if args.cpu else []
    return options


def _unrecorded(job: str, name: str, code: int, hosts: Sequence[str]) -> int:
    """HOSTS: those that do not see the job's directory."""
    numbers = checkpoints_of(job)
    if hosts:
        from rdb.agents.gathering import checkpoints_elsewhere
        from rdb.recording import open_job

        numbers = checkpoints_elsewhere(open_job(job), hosts)
    if not numbers:
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
"""What mpirun says of ranks that it has ended at Ctrl-C: Open MPI's 1, MPICH's the signal."""


def _were_ended(job: str) -> bool:
    """Has a signal ended ranks?  MPICH's mpiexec that hears Ctrl-C late says 0 of them."""
    from rdb.recording import open_job
    from rdb.recording.log.record import EndKind

    found = open_job(job)
    ends = [found.rank(rank).end for rank in found.ranks]
    return any(end is None or end.kind is EndKind.SIGNAL for end in ends)


_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


def _in_foreground() -> bool:
    """Of a terminal, which sends its signals to all of the process group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def run_foreground(line: list[str], env: Mapping[str, str], launched: str | None = None) -> int:
    """Runs it in the foreground: the terminal's signals go to it, and so do those sent to us.

    LAUNCHED: it is a launcher of that job's ranks, whose exit code does not tell Ctrl-C from a
    program that failed.
    """
    child: int | None = None
    interrupted = False

    def forward(number: int, frame: FrameType | None) -> None:
        if child is not None:
            os.kill(child, number)

    def leave(number: int, frame: FrameType | None) -> None:
        """Ctrl-C reaches the child by itself; we wait for what it makes of it."""
        nonlocal interrupted
        interrupted = True
        if not _in_foreground():
            forward(number, frame)

    # None may come before there is a child to send it to.
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
        # Its number stays taken until no handler can send to it any more.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    finally:
        for number, action in before.items():
            signal.signal(number, action)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    by_launcher = code in _ENDED_BY_LAUNCHER
    if launched and interrupted and (by_launcher or (code == 0 and _were_ended(launched))):
        return INTERRUPTED
    return 128 - code if code < 0 else code
